/** When reports leave an app that runs for long and records nothing more. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import type { State } from "../src/testing.js";
import { DAY_S, Device, FakeCollector, registry } from "./devices.js";

/** The timers of one test. Time passes for a device only as they say. */
class Timers {
  #nowMs = 0;
  #last = 0;
  readonly #set = new Map<number, readonly [dueMs: number, task: () => void]>();

  constructor({ mock }: TestContext) {
    mock.method(globalThis, "setTimeout", (task: () => void, ms: number) => {
      this.#set.set(++this.#last, [this.#nowMs + Math.max(1, ms), task]);
      return this.#last;
    });
    mock.method(globalThis, "clearTimeout", (timer: number) => this.#set.delete(timer));
  }

  async pass(device: Device, seconds: number): Promise<void> {
    await settled();
    const endMs = this.#nowMs + seconds * 1000;
    for (;;) {
      const [next] = [...this.#set].sort(([, [left]], [, [right]]) => left - right);
      const untilMs = Math.min(endMs, next?.[1][0] ?? endMs);
      device.nowS += (untilMs - this.#nowMs) / 1000;
      this.#nowMs = untilMs;
      if (!next || untilMs === endMs) return;
      this.#set.delete(next[0]);
      next[1][1]();
      await settled();
    }
  }
}

async function settled(): Promise<void> {
  for (let turn = 0; turn < 3; turn++) await new Promise((resolve) => setImmediate(resolve));
}

test("a new report leaves within a minute, whatever else waits for a later time", async (context) => {
  const timers = new Timers(context);
  const device = new Device(registry(["a", "b"]), { sends: true });
  device.collector.refuses = ({ metric }) => (metric === "a" ? "unknown_edition" : undefined);
  await device.telemetry.record("a", true);
  await timers.pass(device, 61);
  await device.telemetry.record("b", true);
  await timers.pass(device, 61);
  assert.deepEqual(device.collector.reports.map(({ metric }) => metric), ["a", "b"]);
});

test("a collector that never answers one upload holds no later report up", async (context) => {
  const timers = new Timers(context);
  const collector = new FakeCollector();
  const sent: string[] = [];
  const fetch = async (url: unknown, request?: RequestInit): Promise<Response> => {
    const body = request!.body as string;
    sent.push(body);
    return body.includes('"a"') ? new Promise(() => undefined) : collector.fetch(url, request);
  };
  const device = new Device(registry(["a", "b"]), { sends: true, fetch: fetch as typeof globalThis.fetch });
  await device.telemetry.record("a", true);
  await timers.pass(device, 61);
  await device.telemetry.record("b", true);
  await timers.pass(device, 61);
  assert.deepEqual(collector.reports.map(({ metric }) => metric), ["b"]);
  await timers.pass(device, DAY_S);
  assert.ok(sent.length > 2);
  assert.equal(new Set(sent).size, 2);
});

test("an app that stays open sends again after each back-off", async (context) => {
  const timers = new Timers(context);
  const device = new Device(registry(["a"]), { sends: true });
  device.collector.script.push(...Array<"lost">(20).fill("lost"));
  await device.telemetry.record("a", true);
  await timers.pass(device, 2 * DAY_S);
  assert.deepEqual((await device.telemetry.history()).map(({ outcome }) => outcome), ["accepted"]);
  assert.equal(device.collector.bodies.length, 21);
});

test("an app that stays open offers again what was refused for now", async (context) => {
  const timers = new Timers(context);
  const device = new Device(registry(["a"]), { sends: true });
  device.collector.refuses = () => "unknown_edition";
  await device.telemetry.record("a", true);
  await timers.pass(device, 4.5 * DAY_S);
  assert.deepEqual(await device.telemetry.dropped(), { unknown_edition: 1 });
  assert.equal(device.collector.bodies.length, 5);
});

test("an app that stays open reports a count whose window has ended", async (context) => {
  const timers = new Timers(context);
  const device = new Device(registry(["clicks"]), { sends: true });
  await device.telemetry.count("clicks");
  await timers.pass(device, 2 * DAY_S);
  assert.deepEqual(device.collector.reports.map(({ window }) => window), ["2026-11-18"]);
});

test("who agrees again after opting out has reports that leave by themselves", async (context) => {
  const timers = new Timers(context);
  const device = new Device(registry(["a", "b"]), { sends: true });
  await device.telemetry.record("a", true);
  await device.telemetry.forget();
  device.telemetry.consent = true;
  await device.telemetry.record("b", true);
  await timers.pass(device, 61);
  assert.deepEqual(device.collector.reports.map(({ metric }) => metric), ["b"]);
});

test("an app that stays open and has nothing to send looks once a day", async (context) => {
  const timers = new Timers(context);
  const device = new Device(registry(["a"]), { sends: true });
  await device.telemetry.record("a", true);
  await timers.pass(device, DAY_S / 2);
  const transact = context.mock.method(device.store, "transact");
  await timers.pass(device, 10 * DAY_S);
  assert.ok(transact.mock.callCount() <= 22, `${transact.mock.callCount()}`);
});

test("a page that stays open calls what its app provides once in each window, within six hours", async (context) => {
  const timers = new Timers(context);
  const device = new Device(registry(["a"]), { sends: true });
  const hours: number[] = [];
  await device.telemetry.provide("a", () => (hours.push(((device.nowS % DAY_S) / 3600)), true));
  await timers.pass(device, 3 * DAY_S);
  assert.equal(hours.length, 4);
  assert.ok(hours.slice(1).every((hour) => hour <= 6), `${hours}`);
  assert.deepEqual(device.collector.reports.map(({ window }) => window), ["2026-11-18", "2026-11-19", "2026-11-20", "2026-11-21"]);
});

test("a function that is too slow does not hold the report up, and its answer is dropped", async (context) => {
  const [reports, stored] = [[], []] as [unknown[], unknown[]];
  for (const answer of [() => true, () => new Promise<boolean>(() => undefined), () => undefined as never]) {
    const timers = new Timers(context);
    const device = new Device(registry(["a"]), { sends: true });
    context.mock.method(console, "warn", () => undefined);
    void device.telemetry.provide("a", answer);
    await timers.pass(device, 5);
    stored.push(shape(device.store.state!));
    await timers.pass(device, 62);
    reports.push(device.collector.reports.map(({ metric, window }) => [metric, window]));
    context.mock.restoreAll();
  }
  assert.deepEqual(reports, Array(3).fill([["a", "2026-11-18"]]));
  assert.deepEqual(stored, Array(3).fill(stored[0]));
});

/** Return a state without what chance decides. */
function shape(state: State): unknown {
  return { ...state, queue: state.queue.map((report) => ({ ...report, symbol: 0 })) };
}
