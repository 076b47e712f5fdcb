/** How long `record` takes in a browser, beside a bare durable write of the same run: `npm run bench:browsers`. */

import { join } from "node:path";
import { Collector } from "./collector.js";
import { BROWSERS, Site, browserOf } from "./site.js";
import type { Telemetry } from "../src/index.js";

declare const app: { open(days?: number): Telemetry };

const RECORDS = 500;
const QUESTIONS = Array.from({ length: RECORDS }, (_, n) => `m${n}`);
const TOML = `
schema = 1
[app]
name = "acme"
[budget]
per_window = 1e6
lifetime = 1e9
web_year = 1e9
${QUESTIONS.map((name) => `[metric.${name}]\npurpose = "?"\nkind = "boolean"\nepsilon = 1\n`).join("")}
`;

const [collector, site] = [new Collector(), new Site()];
await site.start();
await site.bundle(collector.compile(TOML), "http://127.0.0.1:9");

for (const which of BROWSERS) {
  const browser = await browserOf(which, join(collector.folder, which[0]));
  const page = await browser.newPage();
  await page.goto(site.origin);
  await page.waitForFunction(() => "app" in window);
  const times = await page.evaluate(async (metrics) => {
    await app.open(-2).record("m0", true);
    const telemetry = app.open();
    const database = await new Promise<IDBDatabase>((resolve) => {
      const opening = indexedDB.open("bare", 1);
      opening.onupgradeneeded = () => opening.result.createObjectStore("s", { autoIncrement: true });
      opening.onsuccess = () => resolve(opening.result);
    });
    const bare = () =>
      new Promise((resolve) => {
        const transaction = database.transaction("s", "readwrite", { durability: "strict" });
        transaction.objectStore("s").add({ metric: "dark_mode", symbol: 1 });
        transaction.oncomplete = resolve;
      });
    const [recorded, added]: number[][] = [[], []];
    for (const name of metrics) {
      const start = performance.now();
      await telemetry.record(name, true);
      const middle = performance.now();
      await bare();
      recorded!.push(middle - start);
      added!.push(performance.now() - middle);
    }
    // A device asks tens of questions, not hundreds: the first fifty are what an app sees.
    const of = (all: number[]) => {
      const sorted = all.slice(0, 50).sort((left, right) => left - right);
      return { median: sorted[25]!, p95: sorted[47]! };
    };
    const late = recorded!.slice(-50).sort((left, right) => left - right);
    return { recorded: of(recorded!), added: of(added!), at450: late[25]! };
  }, QUESTIONS);
  const shown = (value: number) => `${value.toFixed(2)} ms`;
  console.log(
    `${which[0]}: record median ${shown(times.recorded.median)}, 95% ${shown(times.recorded.p95)}; ` +
      `bare strict add median ${shown(times.added.median)}, 95% ${shown(times.added.p95)}; ` +
      `with 450 reports waiting, record median ${shown(times.at450)}`,
  );
  await browser.close();
}
site.end();
await collector.end();
