/** The example page, as a user of two tabs who is offline at times, whose tab dies, and who wipes the storage. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { Browser, BrowserContext, Page } from "puppeteer-core";
import { Collector } from "./collector.js";
import { BROWSERS, PATIENCE_MS, Proxy, Site, browserOf, bundled, freePort, killed } from "./site.js";

const EXAMPLE = fileURLToPath(new URL("../../../../examples/web/", import.meta.url));
const read = (name: string) => readFileSync(join(EXAMPLE, name), "utf8");

/** Devices beside the first one of each browser. */
const OTHERS = 2;

const WEEK_MS = 7 * 86_400_000;

/** The clock of the visits of one week: it begins on the day of the tests. */
const NOW_MS = Date.now();

const [collector, site, proxy] = [new Collector(), new Site(), new Proxy()];

before(async () => {
  await Promise.all([site.start(), proxy.start()]);
  await collector.start(site.origin, await freePort(), read("metrics.toml"));
  proxy.target = collector.url;
  collector.compile(read("metrics.toml"));
  const script = await bundled(read("app.js").replace("./hearsay.js", join(collector.folder, "hearsay.js")));
  site.files.set("/", read("index.html"));
  site.files.set("/bundle.js", script);
});

after(async () => {
  site.end();
  proxy.end();
  await collector.end();
});

/** Open the page some weeks from now. */
async function visit(context: Browser | BrowserContext, weeks = 0): Promise<Page> {
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE_MS);
  await page.evaluateOnNewDocument((now) => void (Date.now = () => now), NOW_MS + weeks * WEEK_MS);
  await page.goto(`${site.origin}/?collector=${encodeURIComponent(proxy.url)}`);
  return page;
}

/** Agree; return what became of the question that is asked at once. */
async function agree(page: Page): Promise<string> {
  await page.bringToFront();
  await page.click("#consent");
  return said(page, "dark_mode");
}

async function press(page: Page, tool: string): Promise<string> {
  await page.bringToFront();
  await page.click(`button[value=${tool}]`);
  return said(page, "tool");
}

/** Return what the page says of a question. */
async function said(page: Page, metric: string): Promise<string> {
  await page.waitForFunction((metric) => document.getElementById("said")!.textContent!.startsWith(`${metric}: `), {}, metric);
  return page.$eval("#said", (element) => element.textContent!.split(": ")[1]!);
}

/** Wait until the page's list shows outcomes of both questions. */
async function lists(page: Page, outcomes: string): Promise<void> {
  await page.waitForFunction(
    (outcomes) => Array.from(document.querySelectorAll("tbody td:last-child"), (cell) => cell.textContent).join() === outcomes,
    {},
    outcomes,
  );
}

for (const which of BROWSERS) {
  describe(which[0], () => {
    const profile = join(collector.folder, which[0]);
    let browser: Browser;
    before(async () => void (browser = await browserOf(which, profile)));
    after(() => browser.close());

    test("one week after the first visit, two tabs report each question once, through an outage and a killed tab", async () => {
      const first = await visit(browser, -1);
      assert.equal(await agree(first), "first_window");
      await first.close();

      const [one, two] = [await visit(browser), await visit(browser)];
      proxy.isOffline = true;
      assert.equal(await agree(one), "queued");
      assert.equal(await agree(two), "already_recorded");
      proxy.isOffline = false;
      proxy.loses = "answer"; // the collector counts, and nobody learns of it
      const held = proxy.holding();
      assert.equal(await press(two, "pen"), "queued");
      await held;
      browser = await killed(two, which, profile);
      const next = await visit(browser);
      assert.equal(await agree(next), "already_recorded");
      assert.equal(await press(next, "brush"), "already_recorded");
      await lists(next, "accepted,accepted");
      await next.close();
    });

    test("a wiped storage is silent for the rest of its week, and reports in the next one", async () => {
      const page = await visit(browser);
      await page.evaluate(() => new Promise((resolve) => (indexedDB.deleteDatabase("hearsay acme-drawing").onsuccess = resolve)));
      assert.equal(await agree(page), "first_window");
      assert.equal(await press(page, "pen"), "first_window");
      await page.close();
      const later = await visit(browser, 1);
      proxy.isOffline = true; // the collector would refuse a window that has not begun
      assert.equal(await agree(later), "queued");
      proxy.isOffline = false;
      await later.close();
    });

    test("other devices report, too", async () => {
      for (let device = 0; device < OTHERS; device++) {
        const context = await browser.createBrowserContext();
        await agree(await visit(context, -1));
        const page = await visit(context);
        assert.equal(await agree(page), "queued");
        assert.equal(await press(page, "eraser"), "queued");
        await lists(page, "accepted,accepted");
        await context.close();
      }
    });
  });
}

test("the estimator reports what all devices answered in that week", async () => {
  await collector.counted(); // waits until the collector looks again
  const devices = BROWSERS.length * (1 + OTHERS);
  const reports = collector.report().map(({ metric, reports }) => [metric, reports]);
  assert.deepEqual(reports, [["dark_mode", devices], ["tool", devices]]);
});
