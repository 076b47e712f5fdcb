import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { HearsayError } from "../src/errors.js";
import { trial } from "../src/trial.js";
import { Device, registry } from "./devices.js";

const HERE = { collector: "http://127.0.0.1:8080" };
const TRIED = { ...registry(["a", "clicks"], {}, "web"), trial };

/** Return what the console was told. */
function told(context: TestContext): string[] {
  const lines: string[] = [];
  context.mock.method(console, "info", (line: string) => lines.push(line));
  return lines;
}

test("a trial reports in its first window, at once, and tells each step", async (context) => {
  const lines = told(context);
  const device = new Device(TRIED, HERE);
  assert.equal(await device.telemetry.record("a", true), "queued");
  const [{ symbol }, ...others] = device.collector.reports as unknown as [{ symbol: number }];
  assert.deepEqual(others, []);
  assert.deepEqual(lines, [
    `hearsay trial: a: true → ${symbol === 1} (randomized at epsilon 1)`,
    "hearsay trial: a: charged epsilon 1, queued for this day",
    "hearsay trial: a: sent for 2026-11-18; the collector's answer: accepted",
  ]);
  assert.equal(await device.telemetry.record("a", true), "already_recorded");
  assert.equal(await device.telemetry.count("clicks", 3), "queued");
  assert.equal(device.collector.reports.length, 2);
  device.telemetry.consent = false;
  assert.equal(await device.telemetry.record("a", true), "no_consent");
  assert.equal(lines.at(-1), "hearsay trial: a: no_consent");
});

test("a trial tells what an ordinary collector answers, and that none answers", async (context) => {
  const lines = told(context);
  const device = new Device(TRIED, HERE);
  device.collector.script.push("lost");
  await device.telemetry.record("a", true);
  assert.match(lines.at(-1)!, /^hearsay trial: a: sent for 2026-11-18; no answer yet: reports wait: the collector/);
  device.collector.refuses = () => "unknown_edition";
  await device.telemetry.flush();
  assert.match(lines.at(-1)!, /answer: refused: .*serve --trial/);
});

test("a trial wants a collector on this machine", () => {
  for (const collector of ["https://example.com", "http://127.0.0.1.example.com", "http://localhost@example.com"]) {
    assert.throws(() => new Device(TRIED, { collector, allowPlainHttp: true }), HearsayError);
  }
  for (const collector of ["http://127.0.0.1:8080", "http://localhost", "https://[::1]:1"]) new Device(TRIED, { collector });
  process.env["HEARSAY_TRIAL"] = "1";
  new Device(TRIED, { collector: "https://example.com" });
  delete process.env["HEARSAY_TRIAL"];
});

test("nothing but a trial tells anything", async (context) => {
  const lines: unknown[] = [];
  for (const name of ["log", "info", "warn", "error", "debug"] as const) context.mock.method(console, name, (line: unknown) => lines.push(line));
  const { trial: _, ...ordinary } = TRIED;
  const device = new Device({ ...ordinary, target: "node" }, HERE);
  await device.telemetry.record("a", true);
  await device.telemetry.flush();
  assert.equal(device.collector.reports.length, 1);
  assert.deepEqual(lines, []);
});
