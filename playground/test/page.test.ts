// The page in Chromium: it shows what the engine answers, and no input leaves the page.

import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { after, afterEach, before, describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import axe from "axe-core";
import { type Browser, type BrowserContext, chromium, type Page } from "playwright-core";
import { stringify } from "yaml";
import { nodesOf } from "../src/cluster";
import { kubectlOutput } from "../src/commands";
import { requestFor, type Verdict } from "../src/judge";
import { START, type State, toFragment } from "../src/state";
import { visible } from "../src/text";
import { answers, type Native, PICTURES, SITE } from "./answers";
import { CHROMIUM } from "./chromium";
import { serve } from "../serve.mjs";

describe("the page in Chromium", () => {
  let browser: Browser;
  let site: Awaited<ReturnType<typeof serve>>;
  const others: (typeof site)[] = [];
  /** The URLs that all pages requested. */
  const requests: string[] = [];
  /** Errors and warnings in the console of the page. */
  const errors: string[] = [];

  before(async () => {
    site = await serve(SITE, 0);
    browser = await chromium.launch({ executablePath: CHROMIUM });
  });

  afterEach(() => {
    assert.deepEqual(errors.splice(0), [], "errors in the console, or against the Content-Security-Policy");
  });

  after(async () => {
    await browser.close();
    for (const it of [site, ...others]) it.close();
  });

  async function open(
    fragment = "",
    options: Parameters<Browser["newContext"]>[0] = {},
    address = site.address,
  ): Promise<{ page: Page; context: BrowserContext }> {
    const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
    context.on("request", (request) => requests.push(request.url()));
    context.on("console", (message) => {
      if (message.type() === "error" || message.type() === "warning")
        errors.push(`${message.text()} ${message.location().url}:${message.location().lineNumber}`);
    });
    context.on("weberror", (error) => errors.push(String(error.error())));
    context.setDefaultTimeout(30_000);
    const page = await context.newPage();
    await page.goto(address + fragment);
    await page.waitForFunction(() => document.getElementById("verdict")?.dataset["checks"]);
    return { page, context };
  }

  /** Puts a state into an open page, and waits for its verdict. */
  async function restore(page: Page, state: Partial<State>): Promise<void> {
    await next(page, async () => {
      const fragment = await toFragment({ ...START, ...state });
      await page.evaluate((fragment) => {
        // Setting the same fragment again does not raise an event.
        history.replaceState(null, "", "#");
        location.hash = fragment || "#.";
      }, fragment);
    });
  }

  /** Waits until the page has checked the change that an action makes. */
  async function next(page: Page, action: () => Promise<unknown>): Promise<void> {
    const checks = () => page.evaluate(() => Number(document.getElementById("verdict")?.dataset["checks"]));
    const before = await checks();
    await action();
    await page.waitForFunction(
      (before) => {
        const status = document.getElementById("verdict");
        return Number(status?.dataset["checks"]) > before && status?.ariaBusy === "false";
      },
      before,
      { polling: "raf" },
    );
  }

  function verdictOf(page: Page): Promise<string> {
    return page.getByRole("status", { name: "Verdict" }).innerText();
  }

  function editor(page: Page, name: string) {
    return page.getByRole("textbox", { name, exact: true });
  }

  async function textOf(page: Page): Promise<string> {
    const lines = editor(page, "HyperConverged").locator(".cm-line");
    return (await lines.allTextContents()).join("\n");
  }

  test("opens with a denied HyperConverged, and fixes it with two clicks", async () => {
    const { page, context } = await open();
    assert.equal(await verdictOf(page), "Denied: multi-arch-import-disabled");
    assert.deepEqual(await page.locator(".mark-deny").allTextContents(), ["spec:"]);
    await page.getByRole("button", { name: "Apply fix: enable the multi-architecture import" }).click();
    const changes = await page.getByRole("dialog").getByLabel("Changes").innerText();
    assert.match(changes, /^\+ +enableMultiArchBootImageImport: true$/m);
    await next(page, () => page.getByRole("button", { name: "Apply", exact: true }).click());
    assert.equal(await verdictOf(page), "Accepted. Warnings: import-is-preview");
    assert.match(await textOf(page), /# no placement: all worker nodes/, "the comment stays");
    await context.close();
  });

  // host.test.ts compares the answers to all cases.
  test("shows for each combination of findings what the engine answers natively", async (t) => {
    const { page, context } = await open();
    const combinations = new Map<string, Native>();
    for (const native of answers()) {
      const { allowed, findings } = native.report;
      const combination = [allowed, ...findings.map((it) => `${it.level} ${it.rule} ${it.fixes.length}`)].join();
      if (!combinations.has(combination)) combinations.set(combination, native);
    }
    let checked = 0;
    for (const native of combinations.values()) {
      const state = stateOf(native);
      try {
        nodesOf(state);
      } catch {
        t.diagnostic(`left out: ${native.name}: no kubectl prints this as a list of nodes`);
        continue;
      }
      await restore(page, state);
      assert.deepEqual(await shown(page), expected(native), native.name);
      checked++;
    }
    assert.ok(checked > 150, `only ${checked} cases`);
    t.diagnostic(`${checked} cases`);
    await context.close();
  });

  /** The verdict, read from the page. */
  function shown(page: Page) {
    return page.evaluate(() => {
      const texts = (selector: string) => [...document.querySelectorAll(selector)].map((it) => it.textContent ?? "");
      const after = (title: string) =>
        [...document.querySelectorAll("#details h3")].find((it) => it.textContent === title)?.nextElementSibling;
      const findings = [...document.querySelectorAll(".findings > li")].filter((it) => it.className !== "");
      return {
        verdict: document.getElementById("verdict")?.textContent?.split(":")[0]?.split(".")[0],
        findings: findings.map((it) => [
          it.className,
          it.querySelector("h4")?.lastChild?.textContent,
          it.querySelector("code")?.textContent,
          it.querySelector("p:nth-of-type(2)")?.textContent,
        ]),
        fixes: findings.map((it) => it.querySelectorAll(".remedies > li").length),
        warnings: [...(after("Warnings")?.children ?? [])].map((it) => it.textContent),
        auditAnnotations: Object.fromEntries(
          texts("#details dt").map((name, index) => [name, texts("#details dd")[index]]),
        ),
        kubectl: after("kubectl")?.textContent,
      };
    });
  }

  function expected({ report, warnings, auditAnnotations, request }: Native): Awaited<ReturnType<typeof shown>> {
    return {
      verdict: report.allowed ? "Accepted" : "Denied",
      findings: report.findings.map((it) => [it.level, it.rule, visible(it.path), visible(it.fact)]),
      fixes: report.findings.map((it) => it.fixes.length),
      warnings: warnings.map(visible),
      auditAnnotations,
      kubectl: visible(kubectlOutput({ report, warnings, request } as unknown as Verdict)),
    };
  }

  test("shows which boot sources come of an object, before and after an update", async () => {
    const template = {
      metadata: { name: "my-image", annotations: { "ssp.kubevirt.io/dict.architectures": "amd64,arm64" } },
      spec: {
        managedDataSource: "my-image",
        schedule: "0 */12 * * *",
        template: {
          spec: {
            source: { registry: { url: "docker://registry.example.com/my-image" } },
            storage: { resources: { requests: { storage: "10Gi" } } },
          },
        },
      },
    };
    const hyperconverged = (isOn: boolean) =>
      stringify({
        apiVersion: "hco.kubevirt.io/v1beta1",
        kind: "HyperConverged",
        metadata: { name: "kubevirt-hyperconverged", namespace: "kubevirt-hyperconverged" },
        spec: {
          enableCommonBootImageImport: false,
          featureGates: { enableMultiArchBootImageImport: isOn },
          dataImportCronTemplates: [template],
        },
      });
    const { page, context } = await open();
    const rows = async () => {
      const rows = page.getByRole("region", { name: "Boot sources" }).getByRole("row");
      return (await rows.allInnerTexts()).map((row) => row.split("\t"));
    };
    await restore(page, { object: hyperconverged(true) });
    assert.deepEqual(await rows(), [
      ["Boot source", "Name alone", "amd64", "arm64"],
      ["my-image", "points to amd64", "a disk", "a disk"],
    ]);
    // A node that joins: without an old object, the disks before are those without it.
    const counts = { amd64: { worker: 1 } };
    await restore(page, { object: hyperconverged(true), nodes: { from: "counts", counts }, whatIf: ["arm64"] });
    assert.deepEqual((await rows())[1], ["my-image", "points to amd64", "a disk", "none → a disk"]);
    await restore(page, { object: hyperconverged(true), oldObject: hyperconverged(false) });
    assert.deepEqual((await rows())[1], [
      "my-image",
      "a disk → points to amd64; none until the import is done",
      "none → a disk",
      "none → a disk",
    ]);
    await context.close();
  });

  test("a fix that is complete resolves its finding, and denies nothing new", async (t) => {
    const { page, context } = await open();
    let fixed = 0;
    for (const native of answers()) {
      const complete = native.report.findings.filter((it) => it.fixes[0]?.complete);
      const changing = complete.filter((it) => it.fixes[0]?.patch.length);
      if (changing.length === 0) continue;
      await restore(page, stateOf(native));
      const name = changing.length > 1 ? /^Apply fixes: all/ : `Apply fix: ${changing[0]?.fixes[0]?.summary}`;
      await page.getByRole("button", { name }).first().click();
      await next(page, () => page.getByRole("button", { name: "Apply", exact: true }).click());
      const after = (await shown(page)).findings;
      for (const { rule, path } of complete) {
        assert.ok(!after.some((it) => it[1] === rule && it[2] === visible(path)), `${native.name}: ${rule} stays`);
      }
      const denied = native.report.findings.filter((it) => it.level === "deny").map((it) => it.rule);
      for (const it of after)
        assert.ok(it[0] !== "deny" || denied.includes(it[1] ?? ""), `${native.name}: ${it[1]} is new`);
      fixed++;
    }
    assert.ok(fixed >= 30, `only ${fixed} objects were fixed`);
    t.diagnostic(`${fixed} objects were fixed`);
    await context.close();
  });

  test("a link restores what it was copied from", async () => {
    const permissions = ["clipboard-read", "clipboard-write"];
    const { page, context } = await open("", { permissions });
    await next(page, () => page.getByRole("button", { name: "One more: s390x, Worker" }).click());
    await next(page, () =>
      page.getByRole("group", { name: "What if" }).getByRole("button", { name: "ppc64le" }).click(),
    );
    await editor(page, "Settings").click();
    await next(page, () => page.keyboard.insertText("levels: {architectures-partial: deny} # ü\n"));
    await page.getByRole("button", { name: "Copy link" }).click();
    await page.getByText("Copied the link.").waitFor();
    const link = await page.evaluate(() => navigator.clipboard.readText());
    assert.match(link, /#1\.[\w-]+$/);
    const before = await shown(page);
    await page.goto("about:blank");
    const other = await open(link.slice(link.indexOf("#")));
    assert.deepEqual(await shown(other.page), before);
    assert.match(await editor(other.page, "Settings").innerText(), /architectures-partial: deny} # ü/);
    assert.equal(await other.page.getByLabel("s390x, Worker", { exact: true }).inputValue(), "1");
    await other.context.close();
    await context.close();
  });

  test("a link that is broken ends in a sentence", async () => {
    const { page, context } = await open("#1.AAAA");
    await page.getByText("The link cannot be read").waitFor();
    assert.equal(await verdictOf(page), "Denied: multi-arch-import-disabled");
    await context.close();
  });

  test("hostile text stays text", async () => {
    const { page, context } = await open();
    const markup = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
    const name = `${markup}\u{202e}\u{1b}[2J`;
    const template = { metadata: { name }, spec: {} };
    const spec = { featureGates: { enableMultiArchBootImageImport: true }, dataImportCronTemplates: [template] };
    const object = { apiVersion: "hco.kubevirt.io/v1beta1", kind: "HyperConverged", metadata: { name: "x" }, spec };
    const title = await page.title();
    // In the live region, and in everything else.
    await restore(page, { object: JSON.stringify(object), settings: JSON.stringify({ [markup]: 1 }) });
    assert.ok((await verdictOf(page)).includes("<img src=x"), await verdictOf(page));
    assert.equal(await page.locator("img[src], body script").count(), 0);
    await restore(page, { object: JSON.stringify(object) });
    const text = await page.locator("#details").innerText();
    assert.ok(text.includes("<img src=x"), text);
    assert.ok(text.includes("\\u{202e}") && !text.includes("\u{202e}") && !text.includes("\u{1b}"), text);
    assert.equal(await page.locator("img[src], body script").count(), 0);
    assert.equal(await page.title(), title);
    // 1 MB: of one scalar, of brackets, of entries.
    const million = 1_000_000;
    for (const text of ["x".repeat(million), "[".repeat(million), "- a\n".repeat(million / 4), "a: &a [*a]\n"]) {
      await restore(page, { object: text });
      assert.match(await verdictOf(page), /^(Accepted|Denied|Not checked)/);
    }
    await restore(page, {});
    assert.equal(await verdictOf(page), "Denied: multi-arch-import-disabled");
    await context.close();
  });

  test("a module that never returns ends in a sentence, and the page lives on", async () => {
    const stuck = await serve(SITE, 0, { "policy.wasm.gz": gzipSync(ENDLESS) });
    others.push(stuck);
    const { page, context } = await open("", {}, stuck.address);
    assert.match(await verdictOf(page), /^Not checked: The policy did not answer within 2 seconds/);
    await editor(page, "HyperConverged").click();
    await page.keyboard.press("Control+A");
    await next(page, () => page.keyboard.press("["));
    assert.match(await verdictOf(page), /^Not checked: HyperConverged: /);
    await context.close();
  });

  test("everything can be done with the keyboard", async () => {
    const { page, context } = await open();
    const reached = new Set<string>();
    for (let step = 0; step < 80; step++) {
      await page.keyboard.press("Tab");
      reached.add(
        await page.evaluate(() => {
          let active = document.activeElement;
          while (active?.shadowRoot?.activeElement) active = active.shadowRoot.activeElement;
          return active?.ariaLabel ?? active?.textContent ?? "";
        }),
      );
    }
    const wanted = ["HyperConverged", "Old object", "Settings", "Copy link", "One more: amd64, Worker", "Line 6"];
    for (const name of wanted) assert.ok(reached.has(name), `${name} is not reached`);
    await page.getByRole("button", { name: "Line 6" }).focus();
    await page.keyboard.press("Enter");
    const selected = await page.evaluate(() => document.getElementById("object")?.shadowRoot?.activeElement?.ariaLabel);
    assert.equal(selected, "HyperConverged");
    await page.getByRole("button", { name: "Apply fix: enable the multi-architecture import" }).focus();
    await page.keyboard.press("Enter");
    await page.getByRole("button", { name: "Apply", exact: true }).waitFor();
    await page.getByRole("button", { name: "Apply", exact: true }).focus();
    await next(page, () => page.keyboard.press("Enter"));
    assert.equal(await verdictOf(page), "Accepted. Warnings: import-is-preview");
    await context.close();
  });

  for (const colorScheme of ["light", "dark"] as const) {
    test(`axe-core finds nothing (${colorScheme})`, async () => {
      for (const viewport of [
        { width: 1440, height: 900 },
        { width: 320, height: 640 },
      ]) {
        const { page, context } = await open("", { viewport, colorScheme, reducedMotion: "reduce" });
        await check(page, "start");
        const width = await page.evaluate(() => document.documentElement.scrollWidth);
        assert.ok(width <= viewport.width, `${width} px wide at ${viewport.width} px`);
        await page
          .getByRole("button", { name: /^Apply fix/ })
          .first()
          .click();
        await check(page, "fix");
        await page.getByRole("button", { name: "Cancel" }).click();
        const readme = answers().find(({ name }) => name === "documentation/readme");
        assert.ok(readme);
        await restore(page, stateOf(readme));
        await check(page, "node list");
        await restore(page, { object: "a: [", nodes: { from: "error", error: "no grant" } });
        await check(page, "not checked");
        await page.evaluate(() => void (location.hash = "#1.AAAA"));
        await page.getByText("The link cannot be read").waitFor();
        await check(page, "note");
        await context.close();
      }
    });
  }

  async function check(page: Page, what: string): Promise<void> {
    // Not as a script element, which the page's Content-Security-Policy forbids.
    await page.evaluate(axe.source);
    const violations = await page.evaluate(async () => {
      const { violations } = await (globalThis as unknown as { axe: typeof axe }).axe.run(document);
      return violations.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n")}`);
    });
    assert.deepEqual(violations, [], what);
  }

  test("pictures for the handbook", async () => {
    mkdirSync(PICTURES, { recursive: true });
    const looks = {
      wide: { viewport: { width: 1280, height: 760 } },
      phone: { viewport: { width: 390, height: 844 } },
      dark: { viewport: { width: 1280, height: 760 }, colorScheme: "dark" },
    } as const;
    for (const [name, options] of Object.entries(looks)) {
      const { page, context } = await open("", options);
      await page.getByLabel("Example").selectOption({ label: "readme" });
      await page.getByText("Denied: architectures-missing").waitFor();
      // Otherwise, Playwright hides the caret with a style that the Content-Security-Policy forbids.
      await page.screenshot({ path: `${PICTURES}/${name}.png`, caret: "initial" });
      await context.close();
    }
  });

  // Last, because it checks the requests of all other tests.
  test("no request leaves the origin of the page", async () => {
    assert.ok(requests.length > 10);
    assert.deepEqual([...new Set(requests.map((url) => new URL(url).hostname))], ["127.0.0.1"]);
    const { page, context } = await open();
    const other = await serve(SITE, 0);
    others.push(other);
    const attempt = (address: string) =>
      fetch(address).then(
        () => "sent",
        () => "blocked",
      );
    assert.equal(await page.evaluate(attempt, other.address), "blocked");
    assert.equal(await page.evaluate(attempt, site.address), "sent");
    assert.match(errors.splice(0).join("\n"), /connect-src 'self'/);
    await context.close();
  });
});

/** The state of the page for a case. */
function stateOf({ request, settings, nodes, error }: Native): State {
  // YAML 1.1 quotes strings that kubectl would read as another type.
  const text = (value: unknown) => (value === null || value === undefined ? "" : stringify(value, { version: "1.1" }));
  const built = requestFor(request["object"], request["oldObject"] ?? null, {});
  const differs = ([key, value]: [string, unknown]) =>
    key !== "userInfo" && JSON.stringify(value) !== JSON.stringify(built[key]);
  return {
    ...START,
    object: text(request["object"]),
    oldObject: text(request["oldObject"]),
    settings: Object.keys(settings as object).length === 0 ? "" : text(settings),
    nodes: nodes === null ? { from: "error", error: error ?? "" } : { from: "list", list: nodes },
    request: Object.fromEntries(Object.entries(request).filter(differs)),
  };
}

/** A module that exports its memory and `__guest_call`, which loops. */
const ENDLESS = Uint8Array.from([
  ...[0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
  // One type: (i32, i32) -> i32; one function of it; one page of memory.
  ...[1, 7, 1, 0x60, 2, 0x7f, 0x7f, 1, 0x7f],
  ...[3, 2, 1, 0],
  ...[5, 3, 1, 0, 1],
  ...[7, 25, 2, 6, ...Buffer.from("memory"), 2, 0, 12, ...Buffer.from("__guest_call"), 0, 0],
  // loop br 0 end unreachable
  ...[10, 10, 1, 8, 0, 3, 0x40, 0x0c, 0, 0x0b, 0, 0x0b],
]);
