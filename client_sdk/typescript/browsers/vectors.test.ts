/** The vectors of the project, in browsers: their big integers, texts, dates and hashes are not those of Node. */

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { fileURLToPath } from "node:url";
import { CHECKS, type Vectors } from "../test/checks.js";
import { VECTORS } from "../test/vectors.js";
import { BROWSERS, PATIENCE_MS, Site, browserOf, bundled } from "./site.js";

declare const checks: typeof CHECKS;

const site = new Site();
const profiles = mkdtempSync(join(tmpdir(), "hearsay-vectors-"));

before(async () => {
  await site.start();
  const file = fileURLToPath(new URL("../test/checks.js", import.meta.url));
  site.files.set("/app.js", await bundled(`import { CHECKS } from ${JSON.stringify(file)}; window.checks = CHECKS;`));
  site.files.set("/vectors.json", JSON.stringify(VECTORS));
});

after(() => {
  site.end();
  rmSync(profiles, { recursive: true, maxRetries: 9 });
});

for (const which of BROWSERS) {
  test(`all vectors that concern a device pass in ${which[0]}`, async () => {
    const browser = await browserOf(which, join(profiles, which[0]));
    try {
      const page = await browser.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      await page.goto(site.origin);
      await page.waitForFunction(() => "checks" in window);
      const outcomes = await page.evaluate(async () => {
        const vectors = (await (await fetch("/vectors.json")).json()) as Vectors;
        const results: [string, string][] = [];
        for (const [name, check] of Object.entries(checks)) {
          results.push([name, await Promise.resolve().then(() => check(vectors)).then(() => "passed", String)]);
        }
        return results;
      });
      assert.deepEqual(outcomes, Object.keys(CHECKS).map((name) => [name, "passed"]));
    } finally {
      await browser.close();
    }
  });
}
