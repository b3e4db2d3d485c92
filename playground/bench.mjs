// Measures the page in Chromium: node bench.mjs ../target/playground

import { chromium } from "playwright-core";
import { serve } from "./serve.mjs";

const RUNS = 7;
const KEYS = 60;

const [directory = "../target/playground", executablePath = "/usr/bin/chromium"] = process.argv.slice(2);
const site = await serve(directory, 0);
const browser = await chromium.launch({ executablePath });
const median = (numbers) => numbers.sort((one, other) => one - other)[Math.floor(numbers.length / 2)].toFixed(0);
const most = (numbers) => Math.max(...numbers).toFixed(0);

const first = [];
let page;
for (let run = 0; run < RUNS; run++) {
  // A new context, so that nothing is cached.
  page = await (await browser.newContext({ viewport: { width: 1440, height: 900 } })).newPage();
  await page.goto(site.address);
  await page.waitForFunction(() => document.getElementById("verdict").dataset.checks);
  first.push(await page.evaluate(() => performance.getEntriesByName("first verdict")[0].startTime));
}
console.log(`first verdict: median ${median(first)} ms, at most ${most(first)} ms of ${RUNS} loads`);

/** Measures the time from a key press to the verdict, and the time that the main thread is busy with a key press. */
async function typing(what) {
  await page.evaluate(() => {
    globalThis.times = { verdict: [], busy: [] };
    let pressed = 0;
    addEventListener(
      "keydown",
      () => {
        pressed = performance.now();
        // Runs when this thread has finished the work for the key press.
        const { port1, port2 } = new MessageChannel();
        const start = pressed;
        port1.onmessage = () => times.busy.push(performance.now() - start);
        port2.postMessage(0);
      },
      true,
    );
    const status = document.getElementById("verdict");
    const options = { attributeFilter: ["data-checks"] };
    globalThis.observer?.disconnect();
    globalThis.observer = new MutationObserver(() => times.verdict.push(performance.now() - pressed));
    observer.observe(status, options);
  });
  const object = page.getByRole("textbox", { name: "HyperConverged" });
  await object.click();
  await page.keyboard.press("Control+End");
  for (let key = 0; key < KEYS; key++) {
    const checks = await page.evaluate(() => times.verdict.length);
    await page.keyboard.press(key % 20 === 0 ? "#" : "x");
    await page.waitForFunction((checks) => times.verdict.length > checks, checks);
  }
  const { verdict, busy } = await page.evaluate(() => times);
  console.log(
    `${what}: from a key to its verdict: median ${median(verdict)} ms, at most ${most(verdict)} ms of ${verdict.length}; ` +
      `the page is busy with a key for ${median(busy)} ms, at most ${most(busy)} ms`,
  );
}

await typing("start");
await page.getByLabel("Example").selectOption({ label: "readme" });
await page.getByText("Denied: architectures-missing").waitFor();
await typing("example of the README");
await browser.close();
site.close();
