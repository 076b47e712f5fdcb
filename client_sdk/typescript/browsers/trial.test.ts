/** The example page in a trial: whatever the strategy of its questions, the first visit reports at once. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { Collector } from "./collector.js";
import { BROWSERS, PATIENCE_MS, Site, browserOf, bundled, freePort } from "./site.js";

const EXAMPLE = fileURLToPath(new URL("../../../../examples/web/", import.meta.url));
const read = (name: string) => readFileSync(join(EXAMPLE, name), "utf8");

/** The questions of the example, drawn as those of an app that is no page. */
const PACED = read("metrics.toml")
  .replace(/^web_year.*$/m, 'strategy = "pace"')
  .replaceAll(/^epsilon = .*$/gm, "$&\nexpires = 2036-12-31");

const [collector, site] = [new Collector(), new Site()];

before(async () => {
  await site.start();
  await collector.start(site.origin, await freePort(), PACED, "--trial");
  const module = collector.compile(PACED, "--trial");
  site.files.set("/", read("index.html"));
  site.files.set("/bundle.js", await bundled(read("app.js").replace("./hearsay.js", module)));
});

after(async () => {
  site.end();
  await collector.end();
});

for (const which of BROWSERS) {
  test(`the first visit reports at once, and the console tells it, in ${which[0]}`, async () => {
    const browser = await browserOf(which, join(collector.folder, which[0]));
    const page = await browser.newPage();
    page.setDefaultTimeout(PATIENCE_MS);
    const lines: string[] = [];
    page.on("console", (message) => lines.push(message.text()));
    await page.goto(`${site.origin}/?collector=${encodeURIComponent(collector.url)}`);
    await page.click("#consent");
    await page.waitForFunction(() => document.querySelector("tbody td:last-child")?.textContent === "accepted");
    const told = lines.filter((line) => line.startsWith("hearsay trial: dark_mode: "));
    assert.match(told[0]!, /(true|false) → (true|false) \(randomized at epsilon 1\.1\)$/);
    assert.match(told.at(-1)!, /the collector's answer: accepted$/);
    await browser.close();
  });
}

test("the estimator reports the first visits at once", async () => {
  const reports = collector.report().map(({ metric, reports }) => [metric, reports]);
  assert.deepEqual(reports, [["dark_mode", BROWSERS.length]]);
});
