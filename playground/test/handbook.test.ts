// The handbook in Chromium: it works when opened as a file.

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { pathToFileURL } from "node:url";
import axe from "axe-core";
import { type Browser, chromium, type Page } from "playwright-core";
import { SITE } from "./answers";
import { CHROMIUM } from "./chromium";
import { serve } from "../serve.mjs";

const BOOK = join(SITE, "../handbook");

describe("the handbook in Chromium", () => {
  let browser: Browser;
  let site: Awaited<ReturnType<typeof serve>>;

  before(async () => {
    site = await serve(BOOK, 0);
    browser = await chromium.launch({ executablePath: CHROMIUM });
  });

  after(async () => {
    await browser.close();
    site.close();
  });

  const open = (page: Page, name: string) => page.goto(pathToFileURL(join(BOOK, name)).href);

  test("is searched without a server", async () => {
    const page = await browser.newPage();
    const errors: string[] = [];
    page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
    page.on("pageerror", (error) => errors.push(String(error)));
    await open(page, "index.html");
    await page.keyboard.press("/");
    await page.keyboard.type("architectures-missing");
    await page
      .getByRole("link", { name: /architectures-missing » / })
      .first()
      .click();
    assert.match(page.url(), /\/rules\/architectures-missing\.html/);
    assert.deepEqual(errors, []);
    await page.close();
  });

  test("follows the colours of the system", async () => {
    const page = await browser.newPage({ colorScheme: "dark" });
    await open(page, "index.html");
    const dark = await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
    await page.emulateMedia({ colorScheme: "light" });
    await page.reload();
    assert.notEqual(await page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor), dark);
    await page.close();
  });

  test("has no problem that axe finds in the text", async () => {
    // Served, because axe reads the style sheets, which Chromium forbids for files.
    for (const colorScheme of ["light", "dark"] as const) {
      const page = await browser.newPage({ colorScheme });
      for (const name of ["index.html", "settings.html", "pipelines.html", "rules/architectures-missing.html"]) {
        await page.goto(site.address + name);
        await page.evaluate(axe.source);
        const { violations } = await page.evaluate(() => axe.run("main", { rules: { region: { enabled: false } } }));
        const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join(" ")}`);
        assert.deepEqual(found, [], `${name}, ${colorScheme}`);
      }
      await page.close();
    }
  });
});
