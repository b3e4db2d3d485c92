// The handbook in Chromium: it works when opened as a file, and its examples open in the playground.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
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

  test("opens each example of a rule in the playground, where that rule fires", async (t) => {
    const page = await browser.newPage();
    page.setDefaultTimeout(30_000);
    let opened = 0;
    const without: string[] = [];
    for (const name of readdirSync(join(BOOK, "rules"))) {
      const rule = name.replace(/\.html$/, "");
      const before = opened;
      const sections = readFileSync(join(BOOK, "rules", name), "utf8").split("<h2 ");
      const section = (id: string) => sections.find((text) => text.startsWith(`id="${id}"`)) ?? "";
      for (const [text, isFiring] of [
        [section("example-that-fires"), true],
        [section("the-fix"), false],
      ] as const) {
        for (const [, link] of text.matchAll(/href="([^"]*playground\/index\.html#[^"]*)"/g)) {
          // A change of only the fragment does not load the page again.
          await page.goto("about:blank");
          await page.goto(new URL(link ?? "", `${site.address}rules/`).href);
          await page.waitForFunction(() => document.getElementById("verdict")?.dataset["checks"]);
          const verdict = await page.getByRole("status", { name: "Verdict" }).innerText();
          if (isFiring) assert.match(verdict, new RegExp(`\\b${rule}\\b`), link);
          else assert.equal(verdict, "Accepted", `${rule}: ${link}`);
          opened++;
        }
      }
      if (opened === before) without.push(rule);
    }
    // The playground can neither look up images, nor read what a VirtualMachine depends on.
    const machines = without.filter((rule) => rule.startsWith("vm-"));
    assert.equal(machines.length, 4);
    assert.deepEqual(
      without.filter((rule) => !machines.includes(rule)),
      ["image-architectures-mismatch"],
    );
    t.diagnostic(`${opened} examples`);
    await page.close();
  });
});
