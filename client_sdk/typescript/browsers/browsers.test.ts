import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import type { Browser, Page } from "puppeteer-core";
import type { CompiledRegistry, Decision, Telemetry } from "../src/index.js";
import { Collector } from "./collector.js";
import { BROWSERS, PATIENCE_MS, Proxy, Site, browserOf, freePort, killed } from "./site.js";

/** Rounds of each race and each kill; more on demand. */
const ROUNDS = Number(process.env["HEARSAY_ROUNDS"] ?? 2);

/** Questions, each of which costs ln 3; the ceiling of a day allows for ALLOWED reports. */
const QUESTIONS = 1000;
const ALLOWED = 400;

const TOML = `
schema = 1
[app]
name = "acme"
[budget]
window = "day"
per_window = ${ALLOWED * 1.0986122887 + 0.0001}
lifetime = 1e6
web_year = 1e6
${Array.from({ length: QUESTIONS }, (_, n) => `[metric.m${n}]\npurpose = "Is it used?"\nkind = "boolean"\nepsilon = "ln 3"\n`).join("")}
`;

declare const app: {
  registry: CompiledRegistry;
  consent: typeof import("../src/consent.js");
  open(days?: number, options?: object): Telemetry;
  telemetry: Telemetry;
  historyElement: typeof import("../src/index.js").historyElement;
};

test("there is a browser", () => assert.ok(BROWSERS.length > 0, "install chromium or firefox-esr: make programs"));

// They wait more than they work, so they are tried side by side, each with a collector of its own.
describe("browsers", { concurrency: true }, () => BROWSERS.forEach(testsOf));

function testsOf(which: (typeof BROWSERS)[number]): void {
  describe(which[0], { concurrency: false }, () => {
    const [collector, site, proxy] = [new Collector(), new Site(), new Proxy()];
    const profile = join(collector.folder, which[0]);
    let port = 0;
    let browser: Browser;
    let used = 0; // each test takes questions that no other test takes

    before(async () => {
      await Promise.all([site.start(), proxy.start()]);
      port = await freePort();
      await collector.start(site.origin, port, TOML);
      proxy.target = collector.url;
      await site.bundle(collector.compile(TOML), proxy.url);
      browser = await browserOf(which, profile);
      const page = await visit();
      const first = await page.evaluate(() => app.open(-40).record("m0", true));
      assert.equal(first, "first_window");
      await page.close();
    });
    after(async () => {
      await browser?.close();
      site.end();
      proxy.end();
      await collector.end();
    });

    async function visit(path = "/", origin = site.origin): Promise<Page> {
      const page = await browser.newPage();
      page.setDefaultTimeout(PATIENCE_MS);
      await page.goto(origin + path);
      await page.waitForFunction(() => "app" in window);
      return page;
    }

    function take(number: number): string[] {
      const names = Array.from({ length: number }, (_, n) => `m${used + n}`);
      used += number;
      return names;
    }

    async function record(page: Page, names: string[]): Promise<string[]> {
      const outcomes = await page.evaluate((names) => Promise.all(names.map((name) => app.telemetry.record(name, true))), names);
      return names.filter((_, n) => outcomes[n] === "queued");
    }

    const flush = (page: Page) => page.evaluate(() => app.telemetry.flush());

    test(`two tabs with ${QUESTIONS} answers each exceed no ceiling`, async () => {
      // Another origin has another storage: its clock may run ahead.
      const origin = site.origin.replace("127.0.0.1", "localhost");
      const one = await visit("/", origin);
      await one.evaluate(() => app.open(-40).record("m0", true));
      const two = await visit("/", origin);
      for (let round = 0; round < ROUNDS; round++) {
        const race = (page: Page, reversed: boolean) =>
          page.evaluate(
            async (day, reversed, metrics) => {
              const telemetry = app.open(day);
              const order = Array.from({ length: metrics }, (_, n) => `m${reversed ? metrics - 1 - n : n}`);
              const outcomes: Record<string, number> = {};
              for (const name of order) {
                const outcome = await telemetry.record(name, true);
                outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
              }
              return outcomes;
            },
            round,
            reversed,
            QUESTIONS,
          );
        const [first, second] = await Promise.all([race(one, false), race(two, true)]);
        const queued = (first["queued"] ?? 0) + (second["queued"] ?? 0);
        assert.equal(queued, ALLOWED, `round ${round}: ${JSON.stringify([first, second])}`);
      }
      await Promise.all([one.close(), two.close()]);
    });

    test("a page of another origin reports to a real collector, which counts each report once", async () => {
      const page = await visit();
      const names = take(5);
      assert.deepEqual(await record(page, names), names);
      assert.equal(await flush(page), "sent");
      const counted = await collector.counted();
      for (const name of names) assert.equal(counted[name], 1);
      const history = await page.evaluate(() => app.telemetry.history());
      assert.deepEqual(new Set(history.map(({ outcome }) => outcome)), new Set(["accepted"]));
      await page.close();
    });

    test("nothing is stored before the user agrees", async () => {
      const page = await visit();
      const names = await page.evaluate(async () => {
        await new Promise((resolve) => (indexedDB.deleteDatabase("hearsay other").onsuccess = resolve));
        const shy = app.open(0, { consent: false });
        await shy.record("m0", true);
        await shy.flush();
        return [(await indexedDB.databases()).map(({ name }) => name), { ...localStorage }, document.cookie];
      });
      assert.deepEqual(names, [["hearsay acme"], {}, ""]); // of the earlier visit, to which the user agreed
      await page.close();
    });

    test("reports wait while the collector is away, and tabs that flush at once send each once", async () => {
      const [one, two] = [await visit(), await visit()];
      const names = take(70); // two uploads
      assert.equal((await record(one, names)).length, names.length);
      await collector.stop();
      for (const origin of ["", "https://other.example.com"]) {
        if (origin) await collector.start(origin, port, TOML);
        assert.equal(await flush(one), "offline");
        const problem = await one.evaluate(() => app.telemetry.problem);
        assert.match(problem!, /it did not answer, or does not allow this page's origin; see whether it runs/);
      }
      await collector.stop();
      await collector.start(site.origin, port, TOML);
      for (let attempt = 0; attempt < 3; attempt++) await Promise.all([flush(one), flush(two)]);
      const counted = await collector.counted();
      for (const name of names) assert.equal(counted[name], 1, name);
      await Promise.all([one.close(), two.close()]);
    });

    for (const step of ["recording", "recorded", "request", "answer"] as const) {
      test(`a tab that is killed loses nothing that was acknowledged, and nothing is counted twice: ${step}`, async () => {
        for (let round = 0; round < ROUNDS; round++) {
          const page = await visit();
          const names = take(3);
          const acknowledged = step === "recording" ? [] : await record(page, names);
          if (step === "recording") void page.evaluate((names) => names.map((name) => void app.telemetry.record(name, true)), names).catch(() => undefined);
          if (step === "request" || step === "answer") {
            proxy.loses = step;
            const held = proxy.holding();
            void flush(page).catch(() => undefined);
            await held;
          }
          browser = await killed(page, which, profile);
          const next = await visit();
          await next.waitForFunction(async () => !["not_due", "offline"].includes(await app.telemetry.flush()));
          const counted = await collector.counted();
          for (const name of acknowledged) assert.equal(counted[name], 1, name);
          for (const name of names) assert.ok((counted[name] ?? 0) <= 1, name);
          await next.close();
        }
      });
    }

    test("a question that the collector stops is asked no more", async () => {
      const page = await visit();
      const [first, stopped] = take(2) as [string, string];
      const edition = await page.evaluate((name) => app.registry.metrics[name]!.edition, stopped);
      await collector.stop();
      await collector.start(site.origin, port, TOML.replace("schema = 1", `schema = 1\nstopped = ["${stopped}:${edition}"]`));
      await record(page, [first]);
      assert.equal(await flush(page), "sent");
      assert.equal(await page.evaluate((name) => app.telemetry.record(name, true), stopped), "stopped");
      await collector.stop();
      await collector.start(site.origin, port, TOML);
      await page.close();
    });

    test("a frame in another site's page records nothing unless it is asked for", async () => {
      const page = await browser.newPage();
      await page.goto(`${site.origin}/framing`);
      const frame = await page.waitForFrame((frame) => frame.url().startsWith("http://localhost"));
      await frame.waitForFunction(() => "app" in window);
      assert.equal(await frame.evaluate(() => app.telemetry.record("m0", true)), "unavailable");
      assert.equal(await frame.evaluate(() => app.open(0, { allowPartitioned: true }).record("m0", true)), "first_window");
      await page.close();
    });

    test("the history is a table with a caption, and its button erases it in every tab", async () => {
      const [page, other] = [await visit(), await visit()];
      const shown = await page.evaluate(async () => {
        document.body.append(await app.historyElement(app.telemetry));
        const table = document.querySelector("table")!;
        return [table.caption!.textContent!.slice(0, 21), table.querySelectorAll("th[scope=col]").length, table.tBodies[0]!.rows.length > 4];
      });
      assert.deepEqual(shown, ["What left this device", 4, true]);
      await page.bringToFront();
      await page.click("button");
      await page.waitForFunction(() => document.querySelector("[role=status]")!.textContent!.startsWith("Erased"));
      assert.deepEqual(await other.evaluate(() => app.telemetry.history()), []);
      await Promise.all([page.close(), other.close()]);
    });

    /** Ask a user of one question, who does what they do; return what is decided. */
    async function ask(page: Page, act?: () => Promise<void>): Promise<Decision> {
      await page.bringToFront();
      const decided = page.evaluate(() => {
        const registry = { ...app.registry, metrics: { m0: app.registry.metrics["m0"]! } };
        return app.consent.ask(registry, { collector: "https://x", prompt: app.consent.dialog("/statement") });
      });
      if (act) await page.waitForFunction(() => document.querySelector("dialog")?.open);
      await act?.();
      return decided;
    }

    test("the dialog presets no answer, and asks once until the user chooses", async () => {
      const page = await visit();
      const undecided = await ask(page, async () => {
        await page.keyboard.press("Enter");
        const [label, focused, ...buttons] = await page.$eval("dialog[open]", (dialog) => [
          dialog.getAttribute("aria-label")!,
          document.activeElement!.textContent!,
          ...Array.from(dialog.querySelectorAll("button"), ({ outerHTML }) => outerHTML),
        ]);
        assert.equal(label, "acme would like to report your answers to these questions:");
        assert.equal(focused, label);
        assert.deepEqual(buttons, ["yes", "no"].map((answer) => `<button value="${answer}">${answer}</button>`));
        assert.equal(await page.$eval("dialog li", (item) => item.textContent), "m0: Is it used?");
        assert.equal(await page.$eval("dialog a", (link) => link.getAttribute("href")), "/statement");
        await page.keyboard.press("Escape");
      });
      assert.equal(undecided.rule, "undecided");
      assert.deepEqual(await page.evaluate(() => [{ ...localStorage }, document.querySelector("dialog")]), [{}, null]);
      for (const answer of [false, true]) {
        const decision = await ask(page, () => page.click(`dialog button[value=${answer ? "yes" : "no"}]`));
        assert.deepEqual([decision.consent, decision.rule], [answer, "choice"]);
        await page.evaluate(() => app.open().forget());
        assert.deepEqual(await ask(page), decision);
        await page.evaluate(() => localStorage.clear());
      }
      await page.close();
    });

    for (const [setting, value, by] of [["doNotTrack", "1", "Do Not Track"], ["globalPrivacyControl", true, "Global Privacy Control"]] as const) {
      test(`a user whose browser says ${by} is asked nothing, and what is stored stays as it is`, async () => {
        const page = await browser.newPage();
        page.setDefaultTimeout(PATIENCE_MS);
        await page.evaluateOnNewDocument((name, value) => Object.defineProperty(navigator, name, { value }), setting, value);
        await page.goto(site.origin);
        await page.waitForFunction(() => "app" in window);
        const decision = await ask(page);
        assert.deepEqual([decision.consent, decision.rule, decision.by], [null, "do_not_track", by]);
        const [before, outcomes, after] = await page.evaluate(async (decision) => {
          const stored = () => new Promise((resolve) => {
            indexedDB.open("hearsay acme").onsuccess = ({ target }) => {
              const database = (target as IDBOpenDBRequest).result;
              const reading = database.transaction("state").objectStore("state").getAll();
              reading.onsuccess = () => resolve([JSON.stringify(reading.result), { ...localStorage }]);
              database.close();
            };
          });
          await app.telemetry.record("m0", true);
          const before = await stored();
          const telemetry = app.open(1, { consent: decision });
          const outcomes = [await telemetry.record("m1", true), await telemetry.flush()];
          return [before, outcomes, await stored()];
        }, decision);
        assert.deepEqual(outcomes, ["suppressed", "suppressed"]);
        assert.ok(JSON.stringify(before).includes("latestS"));
        assert.deepEqual(after, before);
        await page.close();
      });
    }

    test("a wiped storage reports nothing in the window in which it was wiped", async () => {
      const page = await visit();
      await page.evaluate(() => new Promise((resolve) => {
        const wiping = indexedDB.deleteDatabase("hearsay acme");
        wiping.onsuccess = resolve;
      }));
      assert.equal(await page.evaluate(() => app.open().record("m0", true)), "first_window");
      await page.close();
    });

    test("nothing was ever counted twice", async () => {
      for (const [name, count] of Object.entries(await collector.counted())) assert.ok(count <= 1, name);
    });
  });
}
