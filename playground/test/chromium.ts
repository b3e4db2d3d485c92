// The browser that the tests use, from PATH.

import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";

function find(): string {
  const directories = (process.env["PATH"] ?? "").split(delimiter);
  const found = ["chromium", "chromium-browser", "google-chrome"]
    .flatMap((name) => directories.map((directory) => join(directory, name)))
    .find((file) => existsSync(file));
  if (found === undefined) throw new Error("Chromium is not on PATH; install it with apt-get install chromium");
  return found;
}

export const CHROMIUM = find();
