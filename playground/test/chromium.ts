// The browser that the tests use, from PATH.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { skipUnless } from "./required";

export const CHROMIUM = ["chromium", "chromium-browser", "google-chrome"]
  .flatMap((name) => (process.env["PATH"] ?? "").split(delimiter).map((directory) => join(directory, name)))
  .find((file) => existsSync(file));

export const noChromium = skipUnless(
  "browser",
  CHROMIUM !== undefined,
  "Chromium is not on PATH; install it with apt-get install chromium",
);
