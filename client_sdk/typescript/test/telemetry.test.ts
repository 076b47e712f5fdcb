import assert from "node:assert/strict";
import { test } from "node:test";
import { HearsayError, OutsideDomainError, UnknownMetricError } from "../src/errors.js";
import { conclude, enqueue, nextUpload } from "../src/outbox.js";
import { fresh } from "../src/state.js";
import { stop } from "../src/stops.js";
import { Telemetry, type State, type Store } from "../src/testing.js";
import { DAY_S, Device, NOW_S, registry, registryOf } from "./devices.js";
import { ScriptedCoins, seeded } from "./scripted.js";

const NAMES = ["a", "b", "c", "d"];

test("a report is charged once and delivered once", async () => {
  const device = new Device(registry(NAMES));
  assert.equal(await device.telemetry.record("a", true), "queued");
  assert.equal(await device.telemetry.record("a", false), "already_recorded");
  assert.equal((await device.telemetry.budget()).windowSpent, 1);
  assert.equal(await device.telemetry.flush(), "sent");
  assert.equal(await device.telemetry.flush(), "nothing_waiting");
  assert.deepEqual(device.collector.reports.map(({ metric, window }) => [metric, window]), [["a", "2026-11-18"]]);
  assert.deepEqual((await device.telemetry.history()).map(({ outcome }) => outcome), ["accepted"]);
});

test("the history lists everything that has left, as long as the budget lasts", async () => {
  const device = new Device(registry(["a"], { lifetime: "600000000000" }));
  for (let day = 0; day < 601; day++, device.nowS += DAY_S) {
    await device.telemetry.record("a", true);
    await device.telemetry.flush();
  }
  const listed = (await device.telemetry.history()).map(({ window }) => window);
  assert.deepEqual(listed, device.collector.reports.map(({ window }) => window));
  assert.equal(listed.length, 600);
});

test("nothing is stored, drawn or sent before the user agrees", async () => {
  const device = new Device(registry(NAMES), { consent: false, coins: new ScriptedCoins([]) });
  assert.equal(await device.telemetry.record("a", true), "no_consent");
  assert.equal(await device.telemetry.flush(), "no_consent");
  await device.telemetry.forget();
  await device.telemetry.history();
  await device.telemetry.budget();
  assert.equal(device.store.state, undefined);
  assert.deepEqual(device.collector.bodies, []);
});

test("no ceiling is exceeded", async () => {
  for (const [ceiling, text] of [["per_window", "2999999999"], ["per_month", "2999999999"], ["lifetime", "2999999999"]]) {
    const device = new Device(registry(NAMES, { [ceiling!]: text! }));
    const outcomes = [];
    for (const name of NAMES) outcomes.push(await device.telemetry.record(name, true));
    assert.deepEqual(outcomes, ["queued", "queued", "out_of_budget", "out_of_budget"], ceiling);
    device.nowS += DAY_S;
    assert.equal(await device.telemetry.record("a", true), ceiling === "per_window" ? "queued" : "out_of_budget");
    device.nowS += 30 * DAY_S;
    assert.equal(await device.telemetry.record("a", true), ceiling === "lifetime" ? "out_of_budget" : "queued");
  }
});

test("a delta is charged, too", async () => {
  const device = new Device(registry(["a"], { delta: "5" }));
  const metrics = { a: { ...device.registry.metrics["a"]!, attos: "3" } };
  const open = new Telemetry({ ...device.registry, metrics }, { ...device, collector: "https://x", consent: true, sends: false, clock: () => device.nowS });
  assert.equal(await open.record("a", true), "queued");
  device.nowS += DAY_S;
  assert.equal(await open.record("a", true), "out_of_budget");
});

test("a browser's new ledger reports nothing in the windows in which it was made", async () => {
  const device = new Device(registry(["a"], { window: "week" }, "web"));
  for (const day of [0, 1, 4]) {
    device.nowS = NOW_S + day * DAY_S;
    assert.equal(await device.telemetry.record("a", true), "first_window", `${day}`);
  }
  device.nowS = NOW_S + 5 * DAY_S; // the Monday after
  assert.equal(await device.telemetry.record("a", true), "queued");
});

test("wiping again and again renews no window's budget", async () => {
  const device = new Device(registry(NAMES, { per_window: "2000000000", window: "week" }, "web"));
  const perWeek = new Map<string, number>();
  for (let day = 0; day < 60; day++) {
    device.nowS = NOW_S + day * DAY_S;
    for (const name of NAMES) {
      if ((await device.telemetry.record(name, true)) === "queued") {
        const { window } = await device.telemetry.budget();
        perWeek.set(window, (perWeek.get(window) ?? 0) + 1);
      }
    }
    if (day % 11 === 10) device.store.state = undefined;
  }
  assert.ok(perWeek.size >= 3);
  assert.deepEqual([...new Set(perWeek.values())], [2]);
});

test("a clock that was set back by more than a day stops recording", async () => {
  const device = new Device(registry(["a"]));
  await device.telemetry.record("a", true);
  device.nowS -= DAY_S - 1; // counts as standing still
  assert.equal(await device.telemetry.record("a", true), "already_recorded");
  device.nowS -= 2;
  assert.equal(await device.telemetry.record("a", true), "unavailable");
  assert.match(device.telemetry.problem!, /clock/);
});

test("a clock that names no day of a collector's spoils no ledger", async () => {
  const absurd = [NaN, Infinity, -Infinity, -1, 253_402_300_800, 8.64e12, 1e300];
  for (const instantS of absurd) {
    const device = new Device(registry(["a", "clicks"]));
    for (const seen of [false, true]) {
      if (seen) await device.telemetry.record("a", true);
      const before = structuredClone(device.store.state);
      device.nowS = instantS;
      assert.equal(await device.telemetry.record("a", true), "unavailable", `${instantS}`);
      assert.equal(await device.telemetry.count("clicks"), "unavailable");
      assert.match(device.telemetry.problem!, /clock/);
      assert.deepEqual(device.store.state, before);
      device.nowS = NOW_S + DAY_S;
      assert.equal(await device.telemetry.count("clicks"), "counted");
    }
  }
});

test("an upload is sent again with its id and its bytes until it is acknowledged, and counted once", async () => {
  const device = new Device(registry(NAMES));
  for (const name of NAMES) await device.telemetry.record(name, true);
  device.collector.script.push("lost", "answer lost", new Response("<html>portal</html>"), new Response("", { status: 503 }));
  for (const outcome of ["offline", "offline", "refused", "refused"]) assert.equal(await device.telemetry.flush(), outcome);
  assert.equal(await device.open().flush(), "sent"); // the page was closed and opened again
  assert.equal(new Set(device.collector.bodies).size, 1);
  assert.equal(device.collector.bodies.length, 5);
  assert.deepEqual(device.collector.reports.map(({ metric }) => metric).sort(), NAMES);
});

test("a flush skips a back-off, and waits as long as the collector asks", async () => {
  const device = new Device(registry(["a"]));
  await device.telemetry.record("a", true);
  device.collector.script.push("lost", new Response("", { status: 429, headers: { "Retry-After": "40" } }));
  assert.equal(await device.telemetry.flush(), "offline");
  assert.equal(await device.telemetry.flush(), "refused");
  device.nowS += 39;
  assert.equal(await device.telemetry.flush(), "not_due");
  assert.equal(device.collector.bodies.length, 2);
  device.nowS += 1;
  assert.equal(await device.telemetry.flush(), "sent");
});

test("a flush sends what is new before what was not answered, and each is counted once", async () => {
  const device = new Device(registry(NAMES));
  for (const name of NAMES) {
    await device.telemetry.record(name, true);
    device.collector.script.push("answer lost");
    assert.equal(await device.telemetry.flush(), "offline");
  }
  assert.equal(await device.telemetry.flush(), "sent");
  const sent = device.collector.bodies.map((body) => (JSON.parse(body) as { reports: { metric: string }[] }).reports[0]!.metric);
  assert.deepEqual(sent, [...NAMES, ...NAMES]);
  assert.equal(new Set(device.collector.bodies).size, NAMES.length);
  assert.deepEqual(device.collector.reports.map(({ metric }) => metric), NAMES);
});

test("what was not answered leaves again apart from another upload, except in a flush", () => {
  const [state, coins] = [fresh(0), seeded(3n)];
  for (const metric of ["a", "b"]) {
    enqueue(state, { metric, edition: "0".repeat(12), window: "2026-11-20", symbol: 0 });
    const { id } = nextUpload(state, NOW_S, coins, false)!;
    if (metric === "a") conclude(state, id, undefined, NOW_S, coins);
    else conclude(state, id, { status: 200, headers: new Headers(), body: '{"accepted":1,"refused":[]}' }, NOW_S + 60, coins);
  }
  assert.equal(nextUpload(state, NOW_S + 60, coins, false), undefined);
  assert.equal(nextUpload(state, NOW_S + 60, coins, true)?.reports[0]!.metric, "a");
  assert.equal(nextUpload(state, NOW_S + 60 + 900, coins, false)?.reports[0]!.metric, "a");
});

test("an unanswered upload is given up after 40 attempts once its windows have closed, and counted", () => {
  for (const open of [false, true]) {
    const [state, coins, report] = [fresh(0), seeded(3n), { edition: "0".repeat(12), symbol: 0 }];
    enqueue(state, { ...report, metric: "a", window: "2026-11-18" });
    enqueue(state, { ...report, metric: "b", window: open ? "2026-W47" : "2026-11-19" });
    const { id } = nextUpload(state, Date.UTC(2026, 10, 20) / 1000, coins, true)!;
    const closedS = Date.UTC(2026, 10, 23) / 1000; // three days after the end of the later day
    for (let attempt = 1; attempt <= 60; attempt++) {
      assert.equal(state.sent.length, open || attempt <= 40 ? 1 : 0);
      conclude(state, id, undefined, attempt === 1 ? closedS - 1 : closedS, coins);
    }
    assert.deepEqual(state.dropped, open ? {} : { unanswered: 2 });
    assert.deepEqual(state.history.map(({ outcome }) => outcome), ["unanswered", "unanswered"]);
  }
});

test("an upload whose window is open is not given up, however often it was sent", () => {
  const [state, coins] = [fresh(0), seeded(3n)];
  enqueue(state, { metric: "a", edition: "0".repeat(12), window: "2026-11-19", symbol: 0 });
  const { id } = nextUpload(state, NOW_S, coins, true)!;
  for (let attempt = 1; attempt <= 60; attempt++) conclude(state, id, undefined, NOW_S, coins);
  assert.equal(nextUpload(state, NOW_S + 7200, coins, false)?.id, id);
});

test("two tabs that flush at once deliver every report once", async () => {
  const device = new Device(registry(NAMES));
  const other = device.open();
  for (const name of NAMES) await device.telemetry.record(name, true);
  await Promise.all([device.telemetry.flush(), other.flush(), other.flush()]);
  assert.deepEqual(device.collector.reports.map(({ metric }) => metric).sort(), NAMES);
});

test("a report that is refused for now is offered again alone; for good, it is dropped and counted", async () => {
  const device = new Device(registry(NAMES));
  device.collector.refuses = ({ metric }) => ({ a: "unknown_metric", b: "window_closed" })[metric];
  for (const name of ["a", "b", "c"]) await device.telemetry.record(name, true);
  await device.telemetry.flush();
  assert.deepEqual(await device.telemetry.dropped(), { window_closed: 1 });
  device.collector.refuses = () => undefined;
  await device.telemetry.record("d", true);
  device.nowS += DAY_S;
  await device.telemetry.flush();
  const [, ...later] = [...device.collector.uploads.values()].map((reports) => reports.map(({ metric }) => metric));
  assert.deepEqual(later, [["d"], ["a"]]);
  assert.deepEqual(Object.fromEntries((await device.telemetry.history()).map(({ metric, outcome }) => [metric, outcome])), {
    a: "accepted", b: "window_closed", c: "accepted", d: "accepted",
  });
});

test("a report that is always refused is offered four times more, at times of its own", async () => {
  const days = new Set<number>();
  for (let life = 0; life < 6; life++) {
    const device = new Device(registry(["a"]), { coins: seeded(BigInt(life)) });
    device.collector.refuses = () => "unknown_metric";
    await device.telemetry.record("a", true);
    for (let hour = 0; hour < 24 * 6; hour++) {
      const before = device.collector.uploads.size;
      await device.telemetry.flush();
      if (device.collector.uploads.size > before && hour) days.add(hour);
      device.nowS += 3600;
    }
    const offered = device.collector.uploads.size;
    assert.ok(offered >= 3 && offered <= 5, `${offered}`); // the window may close before the fourth
    const { unknown_metric = 0, window_closed = 0 } = await device.telemetry.dropped();
    assert.equal(unknown_metric + window_closed, 1);
  }
  assert.ok(days.size > 12, "each at an instant that no answer decides");
});

test("only a collector's own word gives an upload up", async () => {
  const device = new Device(registry(["a"]));
  await device.telemetry.record("a", true);
  device.collector.script.push(new Response("no", { status: 400 }));
  assert.equal(await device.telemetry.flush(), "refused");
  device.collector.script.push(new Response('{"status":400,"code":"invalid_json"}', { status: 400 }));
  assert.equal(await device.telemetry.flush(), "refused");
  assert.deepEqual(await device.telemetry.dropped(), { rejected: 1 });
});

test("a count is reported once, after its window, on the budget of its last day", async () => {
  const device = new Device(registry(["clicks"]));
  const { telemetry } = device;
  assert.equal(await telemetry.count("clicks"), "counted");
  assert.equal(await device.open().count("clicks", 50), "counted"); // clamped to max
  assert.equal(await telemetry.flush(), "nothing_waiting");
  device.nowS += DAY_S / 2; // midnight
  assert.equal(await telemetry.flush(), "nothing_waiting"); // it leaves within six hours
  device.nowS += 6 * 3600;
  assert.equal(await telemetry.flush(), "sent");
  assert.deepEqual(device.collector.reports.map(({ window }) => window), ["2026-11-18"]);
  assert.deepEqual(Object.values(device.store.state!.days), ["1000000000"]);
  assert.deepEqual(device.store.state!.counts, []);
});

test("a count whose window no collector takes any more is not paid for", async () => {
  const device = new Device(registry(["clicks"]));
  await device.telemetry.count("clicks");
  device.nowS += 5 * DAY_S;
  await device.telemetry.flush();
  assert.deepEqual(await device.telemetry.dropped(), { expired: 1 });
  assert.equal(device.store.state!.lifeNanos, "0");
});

test("forget erases everything but what was spent, in every tab, until the user agrees again", async () => {
  const device = new Device(registry([...NAMES, "clicks"]));
  const other = device.open();
  await other.record("a", true);
  await other.count("clicks");
  await device.telemetry.flush();
  await device.telemetry.record("b", true);
  await device.telemetry.forget();
  assert.equal(await other.record("c", true), "no_consent");
  const { history, queue, counts, sent, lifeNanos } = device.store.state!;
  assert.deepEqual([history, queue, counts, sent, lifeNanos], [[], [], [], [], "2000000000"]);
  device.telemetry.consent = true;
  assert.equal(await device.telemetry.record("a", true), "already_recorded");
  assert.equal(await other.record("c", true), "queued");
});

test("a tab that agreed before another one opted out does not undo that, even if it was idle", async () => {
  const device = new Device(registry(NAMES));
  const idle = device.open();
  await device.telemetry.record("a", true);
  await device.telemetry.forget();
  assert.equal(await idle.record("b", true), "no_consent");
  assert.equal(await idle.flush(), "no_consent");
  assert.deepEqual([device.store.state!.optedOut, device.store.state!.queue], [true, []]);
  assert.equal(await device.open().record("b", true), "queued"); // a page that is opened since then
});

test("an agreement alone makes no ledger", async () => {
  const device = new Device(registry(NAMES));
  device.telemetry.consent = false;
  device.telemetry.consent = true;
  await device.telemetry.history();
  assert.equal(await device.store.exists(), false);
});

test("an agreement holds if its transaction is tried twice", async () => {
  const device = new Device(registry(NAMES));
  await device.telemetry.record("a", true);
  await device.telemetry.forget();
  const { store } = device;
  const twice: Store = {
    exists: () => store.exists(),
    transact: (work) => {
      work(structuredClone(store.state)); // another process was first
      return store.transact(work);
    },
  };
  assert.equal(await device.open({ store: twice }).record("b", true), "queued");
});

test("mistakes of the app reject in words that do not hold the answer, if that is said", async () => {
  const { telemetry } = new Device(registry(["a", "clicks"]), { strict: true, consent: false });
  const isWordless = (kind: new () => unknown) => (error: unknown) =>
    error instanceof kind && error instanceof HearsayError && !error.message.includes("canary");
  await assert.rejects(telemetry.record("a", "canary"), isWordless(OutsideDomainError));
  await assert.rejects(telemetry.record("toString", "canary"), isWordless(UnknownMetricError));
  await assert.rejects(telemetry.record(["a"] as never, "canary"), isWordless(UnknownMetricError));
  await assert.rejects(telemetry.count("a"), HearsayError);
  await assert.rejects(telemetry.count("clicks", 0.5), isWordless(OutsideDomainError));
  assert.equal(await telemetry.record("a", true), "no_consent");
});

/** Answers that are none of any question, as functions: one throws whatever is done with it. */
const WRONG: readonly (() => unknown)[] = [
  () => "canary",
  () => NaN,
  () => null,
  () => ["canary"],
  () => Symbol("canary"),
  () => Object.create(null),
  () => new Proxy([], new Proxy({}, { get: () => () => { throw new RangeError("canary"); } })),
];

test("whatever an answer is, it is reported as a valid one, and neither the store nor a log holds it", async (t) => {
  const { mock } = t.mock.method(console, "warn", () => {});
  for (const [place, wrong] of WRONG.entries()) {
    const [device, valid] = [0, 1].map(() => new Device(registry(["a", "clicks"]))) as [Device, Device];
    assert.equal(await device.telemetry.record("a", wrong()), "queued");
    assert.equal(await device.telemetry.count("clicks", wrong() as number), "counted");
    await valid.telemetry.record("a", true);
    await valid.telemetry.count("clicks");
    const shape = ({ queue, counts, dropped, days }: State) =>
      JSON.stringify([queue.map((each) => ({ ...each, symbol: 0 })), counts.map((each) => ({ ...each, count: 0 })), dropped, days]);
    assert.equal(shape(device.store.state!), shape(valid.store.state!));
    assert.doesNotMatch(JSON.stringify(device.store.state), /canary|invalid/);
    assert.deepEqual(await device.telemetry.dropped(), { invalid: 2 });
    assert.equal(device.telemetry.problem, undefined);
    await device.telemetry.record("a", wrong()); // told once
    assert.equal(mock.callCount(), 2 * (place + 1));
  }
  assert.doesNotMatch(JSON.stringify(mock.calls.map((call) => call.arguments)), /canary/);
});

test("without consent no answer is looked at, logged or counted, and no name either", async (t) => {
  const { mock } = t.mock.method(console, "warn", () => {});
  const { telemetry } = new Device(registry(["a"]), { consent: false });
  for (const name of ["a", "unheard", ["a"] as never]) {
    for (const wrong of WRONG) assert.equal(await telemetry.record(name, wrong()), "no_consent");
    assert.equal(await telemetry.count(name, NaN), "no_consent");
  }
  assert.deepEqual([await telemetry.dropped(), mock.callCount()], [{}, 0]);
});

test("a name that the registry does not have is told by the result, once in the log, and is not shown", async (t) => {
  const { mock } = t.mock.method(console, "warn", () => {});
  const { telemetry } = new Device(registry(["a"]));
  for (const name of ["canary", "toString", ["a"] as never]) assert.equal(await telemetry.record(name, true), "unknown");
  assert.equal(await telemetry.count("a"), "unknown");
  assert.deepEqual(await telemetry.dropped(), { unknown: 4 });
  assert.equal(mock.callCount(), 2);
  assert.doesNotMatch(JSON.stringify(mock.calls.map((call) => call.arguments)), /canary/);
});

test("what is added to a count is clipped, and what is no whole number is drawn evenly", async (t) => {
  t.mock.method(console, "warn", () => {});
  const sums = async (by: number | bigint, coins = new ScriptedCoins([])) => {
    const device = new Device(registry(["clicks"]), { coins });
    assert.equal(await device.telemetry.count("clicks", by as number), "counted");
    assert.equal(coins.isUsedUp, true);
    return device.store.state!.counts[0]!.count;
  };
  assert.deepEqual(await Promise.all([-5, 0, 3, 1e300, 5n, Infinity, -Infinity].map((by) => sums(by))), [0, 0, 3, 10, 5, 10, 0]);
  const drawn = [0, 7, 10].map((each) => [each, new ScriptedCoins([each])] as const);
  for (const [each, coins] of drawn) {
    assert.equal(await sums(0.5, coins), each);
    assert.deepEqual(coins.asked, [["below", "11"]]);
  }
});

test("a registry whose mechanisms or kinds this SDK lacks is refused at the start", () => {
  const whole = registry(["a"]);
  assert.throws(() => new Device({ ...whole, mechanisms: {} }), /compile the registry again/);
  assert.throws(() => new Device({ ...whole, kinds: {} }), /compile the registry again/);
});

test("what is stored and sent holds no true answer", async () => {
  const device = new Device(registry(["a"]), { coins: new ScriptedCoins([false]) });
  await device.telemetry.record("a", true); // the coin says lie
  assert.equal(device.store.state!.queue[0]!.symbol, 0);
  assert.doesNotMatch(JSON.stringify(device.store.state), /true/);
});

test("a storage that fails makes nothing worse", async () => {
  const store = { exists: async () => true, transact: async () => { throw new DOMException("canary", "QuotaExceededError"); } };
  const { telemetry } = new Device(registry(["a"]), { store });
  assert.equal(await telemetry.record("a", true), "unavailable");
  assert.equal(telemetry.problem, "the storage cannot be used: QuotaExceededError");
});

test("where no lock may be taken, nothing is sent and nothing rejects", async () => {
  const alone = () => Promise.reject(new DOMException("sandboxed", "SecurityError"));
  const device = new Device(registry(["a"]), { alone });
  assert.equal(await device.telemetry.record("a", true), "queued");
  assert.equal(await device.telemetry.flush(), "unavailable");
});

test("a question is not asked after its last day", async () => {
  const device = new Device(registry(["a"]));
  const metrics = { a: { ...device.registry.metrics["a"]!, expires: "2026-11-18" } };
  const open = new Telemetry({ ...device.registry, metrics }, { store: device.store, collector: "https://x", consent: true, sends: false, clock: () => device.nowS });
  assert.equal(await open.record("a", true), "queued");
  device.nowS += DAY_S;
  assert.equal(await open.record("a", true), "expired");
});

test("a count is not kept after the last day of its question", async () => {
  const device = new Device(registry(["clicks"]));
  const metrics = { clicks: { ...device.registry.metrics["clicks"]!, expires: "2026-11-18" } };
  const open = new Telemetry({ ...device.registry, metrics }, { store: device.store, collector: "https://x", consent: true, sends: false, clock: () => device.nowS });
  assert.equal(await open.count("clicks"), "counted");
  device.nowS += DAY_S;
  assert.equal(await open.count("clicks"), "expired");
  assert.deepEqual(device.store.state!.counts, []);
});

test("an address may be an object, as programs without types give it", async () => {
  const device = new Device(registry(["a"]), { collector: new URL("https://collector.example.com") as unknown as string });
  await device.telemetry.record("a", true);
  assert.equal(await device.telemetry.flush(), "sent");
});

const OTHER = "0123456789ab";

test("a question that the collector has stopped is asked no more, and nothing else is asked in its place", async () => {
  const device = new Device(registry(["a", "b", "clicks"]));
  const [stopped, other] = [`a:${device.registry.metrics["a"]!.edition}`, "b:" + OTHER];
  await device.telemetry.record("a", true);
  device.collector.stopped = `${stopped},${other},*`;
  assert.equal(await device.telemetry.flush(), "sent");
  device.nowS += DAY_S;
  const spent = device.store.state!.lifeNanos;
  assert.equal(await device.telemetry.record("a", true), "stopped");
  assert.equal(device.store.state!.lifeNanos, spent);
  assert.equal(await device.open().record("b", true), "queued"); // another edition of it is stopped
  assert.deepEqual(await device.telemetry.dropped(), { stopped: 1 });
});

test("what waits of a stopped question is dropped; an upload that has left with others is sent again as it was", async () => {
  const device = new Device(registry(["a", "b"]));
  const edition = device.registry.metrics["a"]!.edition;
  for (const name of ["a", "b"]) await device.telemetry.record(name, true);
  device.collector.script.push("answer lost");
  assert.equal(await device.telemetry.flush(), "offline");
  stop(device.store.state!, [`a:${edition}`]); // another tab has heard of it
  assert.equal(await device.telemetry.flush(), "sent");
  assert.equal(new Set(device.collector.bodies).size, 1);

  const alone = new Device(registry(["a"]));
  await alone.telemetry.record("a", true);
  alone.collector.script.push("answer lost");
  await alone.telemetry.flush();
  stop(alone.store.state!, [`a:${edition}`]);
  assert.equal(await alone.telemetry.flush(), "nothing_waiting");
  assert.deepEqual(await alone.telemetry.dropped(), { stopped: 1 });
});

test("after a flood of hostile answers a device obeys a stop, and keeps nothing of them", async () => {
  const device = new Device(registry(["a", "b"]));
  const { edition } = device.registry.metrics["a"]!;
  for (let day = 0; day <= 40; day++) {
    const garbage = Array.from({ length: 64 }, (_, entry) => `x${day}_${entry}:${edition}`);
    device.collector.stopped = day < 40 ? garbage.join(",") : `a:${edition}`;
    await device.telemetry.record("b", true);
    assert.equal(await device.telemetry.flush(), "sent");
    device.nowS += DAY_S;
  }
  assert.equal(await device.telemetry.record("a", true), "stopped");
  assert.deepEqual(device.store.state!.editions, { [`a:${edition}`]: true, [`b:${edition}`]: false });
});

test("only a whole verdict stops anything", async () => {
  for (const status of [200, 201, 302, 400, 401, 404, 413, 429, 500, 503]) {
    const device = new Device(registry(["a", "b"]));
    const { edition } = device.registry.metrics["a"]!;
    await device.telemetry.record("b", true);
    const body = JSON.stringify({ status, code: "invalid_json" });
    device.collector.script.push(new Response(body, { status, headers: { "Hearsay-Stopped": `a:${edition}` } }));
    await device.telemetry.flush();
    assert.equal(await device.telemetry.record("a", true), "queued", `${status}`);
  }
});

test("a collector can stop each stratum of a question, and what an earlier registry asked", async () => {
  const { metrics, ...rest } = registry(["a"]);
  const former = new Device({ ...rest, metrics: { a: { ...metrics["a"]!, strata: { "os=x": OTHER } } } });
  await former.telemetry.record("a", true);
  const device = new Device(registry(["b"]), { store: former.store });
  await device.telemetry.record("b", true);
  device.collector.stopped = `a:${OTHER},a:${metrics["a"]!.edition},c:${OTHER}`;
  await device.telemetry.flush();
  const stopped = Object.entries(former.store.state!.editions).filter(([, isStopped]) => isStopped);
  assert.deepEqual(stopped.map(([metric]) => metric).sort(), [`a:${OTHER}`, `a:${metrics["a"]!.edition}`].sort());
});

test("a count of a stopped question is not paid for, and opting out forgets stops", async () => {
  const device = new Device(registry(["a", "clicks"]));
  await device.telemetry.count("clicks");
  await device.telemetry.record("a", true);
  device.collector.stopped = `clicks:${OTHER}`;
  await device.telemetry.flush();
  assert.equal(await device.telemetry.count("clicks"), "stopped");
  device.nowS += DAY_S;
  await device.telemetry.flush();
  assert.equal(device.store.state!.lifeNanos, "1000000000");
  await device.telemetry.forget();
  assert.deepEqual(device.store.state!.editions, {});
});

test("a registry may list stopped questions, too", async () => {
  const plain = registry(["a"]);
  const device = new Device({ ...plain, stopped: [`a:${plain.metrics["a"]!.edition}`] });
  assert.equal(await device.telemetry.record("a", true), "stopped");
});

test("a report has the edition of the device's stratum; who moves reports a window once and pays once", async () => {
  const strata = { "platform=ios": "111111111111", "platform=android": "222222222222" };
  const plain = registry(["a", "clicks"]);
  const metrics = Object.fromEntries(Object.entries(plain.metrics).map(([name, metric]) => [name, { ...metric, strata }]));
  const asking = { ...plain, metrics, variables: ["platform"] };
  const editions = [];
  for (const [platform, edition] of [["ios", "111111111111"], ["android", "222222222222"], ["beos", metrics["a"]!.edition]]) {
    const device = new Device(asking, { strata: { platform: platform! } });
    assert.equal(await device.telemetry.record("a", true), "queued");
    await device.telemetry.count("clicks");
    const moved = device.open({ strata: { platform: "ios" } });
    assert.equal(await moved.record("a", true), "already_recorded");
    await moved.count("clicks");
    device.nowS += 1.5 * DAY_S;
    await device.telemetry.flush();
    assert.equal(device.store.state!.lifeNanos, "2000000000");
    editions.push([device.collector.reports.find(({ metric }) => metric === "a")!.edition, edition]);
    assert.equal(device.collector.reports.length, 2);
  }
  for (const [sent, expected] of editions) assert.equal(sent, expected);
  assert.throws(() => new Device(asking, { strata: { country: "canary" } }), (error: Error) => !error.message.includes("canary"));
});

test("consent by purpose covers the questions whose purposes were agreed to", async () => {
  const device = new Device(registryOf({ a: ["usage"], b: ["usage", "research"], c: undefined }), { consent: ["usage"] });
  const outcomes = async () => [await device.telemetry.record("a", true), await device.telemetry.record("b", true), await device.telemetry.record("c", true)];
  assert.deepEqual(await outcomes(), ["queued", "no_consent", "no_consent"]);
  device.telemetry.consent = ["research", "usage"];
  assert.deepEqual(await outcomes(), ["already_recorded", "queued", "no_consent"]);
  device.telemetry.consent = true;
  assert.deepEqual(await outcomes(), ["already_recorded", "already_recorded", "queued"]);
  device.telemetry.consent = [];
  assert.equal(device.telemetry.consent, false);
  for (const wrong of ["usage", 1, {}, { consent: "usage" }]) assert.throws(() => (device.telemetry.consent = wrong as never), HearsayError);
});

test("who withdraws a purpose takes back what waits of it, and nothing else, in every state of an upload", async () => {
  const purposes = { a: ["usage"], b: ["usage"], c: ["health"], clicks: ["health"] };
  for (const step of ["waiting", "under way", "sent"]) {
    const device = new Device(registryOf(purposes));
    for (const name of ["a", "b", "c"]) await device.telemetry.record(name, true);
    await device.telemetry.count("clicks");
    if (step === "under way") device.collector.script.push("lost");
    if (step !== "waiting") await device.telemetry.flush();
    device.telemetry.consent = ["usage"];
    await device.telemetry.flush();
    const { state } = device.store;
    assert.deepEqual([state!.counts, state!.queue], [[], []]);
    assert.deepEqual((await device.telemetry.history()).map(({ metric }) => metric).sort(), ["a", "b"], step);
    const sent = device.collector.reports.map(({ metric }) => metric).sort();
    assert.deepEqual(sent, step === "sent" ? ["a", "b", "c"] : ["a", "b"], step);
    assert.equal(state!.lifeNanos, "3000000000"); // what was charged stays charged
  }
});

test("an update, or an older tab, erases nothing of questions that its registry does not know", async () => {
  const consent = ["usage"];
  for (const step of ["waiting", "under way", "sent"]) {
    const device = new Device(registryOf({ a: ["usage"], b: ["usage"], h: ["health"], clicks: ["usage"] }));
    for (const name of ["a", "b", "h"]) await device.telemetry.record(name, true);
    await device.telemetry.count("clicks");
    if (step === "under way") device.collector.script.push("lost");
    if (step !== "waiting") await device.telemetry.flush();

    const other = new Device(registryOf({ a: ["usage"] }), { consent, store: device.store, fetch: device.collector.fetch });
    assert.equal(await other.telemetry.flush(), step === "sent" ? "nothing_waiting" : "sent");
    assert.deepEqual((await other.telemetry.history()).map(({ metric }) => metric).sort(), ["a", "b"], step);
    assert.deepEqual(device.store.state!.counts.map(({ count }) => count), [1], step);
    const sent = device.collector.reports.map(({ metric }) => metric).sort();
    assert.deepEqual(sent, step === "sent" ? ["a", "b", "h"] : ["a", "b"], step);

    other.telemetry.consent = ["health"];
    assert.equal(await other.telemetry.flush(), "nothing_waiting");
    assert.deepEqual([device.store.state!.history, device.store.state!.counts], [[], []], step);
  }
});

test("an upload that is about to leave stays if the user takes the agreement back", async () => {
  for (const [consent, said] of [[false, "no_consent"], [["health"], "nothing_waiting"], [["usage"], "sent"]] as const) {
    const device = new Device(registryOf({ a: ["usage"] }));
    await device.telemetry.record("a", true);
    const slow: Store = {
      exists: () => device.store.exists(),
      transact: async (work) => {
        const result = await device.store.transact(work);
        if (device.store.state!.sent.length) tab.consent = consent; // while the tab waits for the storage
        return result;
      },
    };
    const tab = device.open({ store: slow });
    assert.equal(await tab.flush(), said);
    assert.equal(device.collector.bodies.length, said === "sent" ? 1 : 0, said);
  }
});

test("a ledger of another version is not used", async () => {
  const device = new Device(registry(["a"]));
  await device.telemetry.record("a", true);
  const later = { ...device.store.state!, version: 2 as 1 };
  device.store.state = structuredClone(later);
  device.nowS += DAY_S;
  const telemetry = device.open();
  assert.equal(await telemetry.record("a", true), "unavailable");
  assert.match(telemetry.problem!, /another version/);
  assert.deepEqual(device.store.state, later);
});

test("a collector's address has no user, query, fragment or blank", () => {
  for (const collector of ["telemetry.example.com", "https://", "https:///x", "https://u:p@x", "https://x?y", "https://x#y", "https://x y", "ftp://x"]) {
    assert.throws(() => new Device(registry(["a"]), { collector }), HearsayError, collector);
  }
  for (const collector of ["https://x", "https://x/", "https://x:8443/base"]) new Device(registry(["a"]), { collector });
});

test("a collector on another machine has TLS, unless the app does without", () => {
  const hosts = ["x", "192.168.0.9:8080", "[::2]", "localhost.evil.com", "127.0.0.1.evil.com", "notlocalhost", "127.1", "evil.com/.localhost", "localhost.", "app.localhost:8080"];
  for (const host of hosts) {
    const collector = `http://${host}`;
    assert.throws(() => new Device(registry(["a"]), { collector }), /allowPlainHttp/, host);
    new Device(registry(["a"]), { collector, allowPlainHttp: true });
  }
  for (const host of ["localhost", "LOCALHOST:80/base", "127.0.0.1", "127.1.2.3:8080/", "[::1]:8080"]) {
    new Device(registry(["a"]), { collector: `http://${host}` });
  }
  assert.throws(() => new Device(registry(["a"]), { collector: "ftp://x", allowPlainHttp: true }), HearsayError);
});

test("a reply that is longer than any collector's is not read to its end, and counts as none", async () => {
  const device = new Device(registry(["a"]));
  await device.telemetry.record("a", true);
  let [read, cancelled] = [0, false];
  const long = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(new Uint8Array(8192).fill(32));
      if ((read += 8192) === 2 ** 20) controller.close();
    },
    cancel: () => void (cancelled = true),
  });
  device.collector.script.push(new Response(long), new Response('{"accepted":1,"refused":[]}'.padEnd(65_537)));
  assert.equal(await device.telemetry.flush(), "offline");
  assert.ok(cancelled && read < 2 * 65_536, `${read}`);
  assert.equal(await device.telemetry.flush(), "offline");
  device.collector.script.push(new Response('{"accepted":1,"refused":[]}'.padEnd(65_536)));
  assert.equal(await device.telemetry.flush(), "sent");
});

test("reports of questions with different purposes never share an upload", async () => {
  const purposes = Object.fromEntries(Array.from({ length: 30 }, (_, n) => [`m${n}`, [["usage"], ["health"], undefined][n % 3]]));
  const device = new Device(registryOf(purposes));
  for (const name of Object.keys(purposes)) await device.telemetry.record(name, true);
  await device.telemetry.flush();
  const groups = [...device.collector.uploads.values()].map((reports) => new Set(reports.map(({ metric }) => String(purposes[metric]))));
  assert.deepEqual(groups.map(({ size }) => size), [1, 1, 1]);
});

test("what an agreement leaves out is dropped, whatever the user says next and however late the storage answers", async () => {
  for (const later of [[true], [["crashes"], true], [false, true]]) {
    const device = new Device(registryOf({ a: ["usage"], b: ["crashes"] }));
    for (const name of ["a", "b"]) await device.telemetry.record(name, true);
    device.nowS += DAY_S;
    let turn = Promise.resolve();
    const slow: Store = {
      exists: () => device.store.exists(),
      transact: async (work) => {
        const own = turn.then(async () => {
          for (let tick = 0; tick < 20; tick++) await new Promise((resolve) => setImmediate(resolve));
          return device.store.transact(work);
        });
        turn = own.then(() => undefined);
        return own;
      },
    };
    const telemetry = device.open({ store: slow, consent: ["usage"] });
    for (const consent of later) telemetry.consent = consent as boolean | string[];
    assert.deepEqual(await Promise.all(["a", "b"].map((name) => telemetry.record(name, true))), ["queued", "queued"]);
    const waiting = device.store.state!.queue.map(({ metric, window }) => `${metric} ${window}`);
    const kept = later.length > 1 && later[0] ? [] : ["a 2026-11-18"];
    assert.deepEqual(waiting, [...kept, "a 2026-11-19", "b 2026-11-19"]);
  }
});

/** Coins that keep every answer and draw the first of all others. */
const TRUTHFUL = { bernoulli: () => true, below: () => 0n };

test("what an app provides is reported once in a window, of one tab, in place of the random answer", async () => {
  for (const answer of [true, false]) {
    const device = new Device(registry(["a"]), { coins: TRUTHFUL });
    let calls = 0;
    for (const tab of [device.telemetry, device.open({ coins: TRUTHFUL }), device.telemetry]) {
      await tab.provide("a", async () => {
        calls++;
        assert.equal(device.store.state!.queue.length, 1); // charged and queued before the call
        assert.equal(device.store.state!.lifeNanos, "1000000000");
        return answer;
      });
    }
    assert.equal(calls, 1);
    assert.equal(await device.telemetry.flush(), "not_due"); // the answer might still come
    device.nowS += 7;
    assert.equal(await device.telemetry.flush(), "sent");
    assert.deepEqual(device.collector.reports.map(({ symbol }) => symbol), [Number(answer)]);
  }
});

test("without an answer a random one is reported, and the log names a type only", async (t) => {
  const logs: string[] = [];
  t.mock.method(console, "warn", (line: string) => logs.push(line));
  const ways: (() => never)[] = [
    () => { throw new RangeError("a canary"); },
    () => Promise.reject(new RangeError("another")) as never,
    () => undefined as never,
    () => "neither" as never,
  ];
  for (const way of ways) {
    const device = new Device(registry(["a"]), { coins: TRUTHFUL });
    await device.telemetry.provide("a", way);
    assert.deepEqual(device.store.state!.queue.map(({ symbol }) => symbol), [0]);
  }
  assert.equal(logs[0], "hearsay: the function that provides a failed: RangeError");
  assert.equal(logs[1], logs[0]);
  await assert.rejects(new Device(registry(["a"]), { strict: true }).telemetry.provide("a", ways[0]!), RangeError);
});

test("nothing is called before the user agrees, and nothing that is returned is used after they opt out", async () => {
  const device = new Device(registry(["a"]), { consent: false });
  let calls = 0;
  const called = new Promise<void>((resolve) => {
    void device.telemetry.provide("a", () => (calls++, resolve(), true));
  });
  await new Promise((turn) => setImmediate(turn));
  assert.equal(calls, 0);
  device.telemetry.consent = true;
  await called;
  const other = new Device(registry(["a"]));
  await other.telemetry.provide("a", async () => (await other.telemetry.forget(), true));
  assert.deepEqual([other.store.state!.queue, other.store.state!.lifeNanos], [[], "1000000000"]);
  await assert.doesNotReject(other.telemetry.provide("toString", () => true));
  assert.deepEqual(await other.telemetry.dropped(), { unknown: 1 });
});

test("nothing is called while telemetry is suppressed, or in the first window of a new browser storage", async () => {
  for (const device of [new Device(registry(["a"]), { consent: null }), new Device(registry(["a"], {}, "web"))]) {
    let calls = 0;
    await device.telemetry.provide("a", () => ++calls > 0);
    assert.equal(calls, 0);
  }
});
