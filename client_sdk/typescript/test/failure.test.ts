import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer, type AddressInfo, type Server } from "node:net";
import { test } from "node:test";
import { causeOf, FAILURES } from "../src/failure.js";
import { causeInNode, explainInNode, NODE_FAILURES, type Failure } from "../src/node_failure.js";
import type { Flushed, Recorded } from "../src/telemetry.js";
import { Device, registry } from "./devices.js";

interface Vectors {
  readonly failures: Readonly<Record<string, { readonly what: string; readonly advice: string }>>;
  readonly statuses: readonly { readonly status: number; readonly hasKey: boolean; readonly failure: Failure }[];
}

const vectors = (name: string): unknown =>
  JSON.parse(readFileSync(new URL(`../../../../tests/vectors/${name}`, import.meta.url), "utf8"));
const VECTORS = vectors("failures.json") as Vectors;

/** What only other clients meet. */
const ABSENT = ["disk", "password", "loading"];

test("the causes and their advice are those of the vectors", () => {
  const ours = { ...FAILURES, ...NODE_FAILURES };
  for (const [name, { what, advice }] of Object.entries(VECTORS.failures)) {
    if (!ABSENT.includes(name)) assert.deepEqual(ours[name as Failure], [what, advice]);
  }
  assert.equal(Object.keys(ours).length + ABSENT.length, Object.keys(VECTORS.failures).length);
  for (const { status, hasKey, failure } of VECTORS.statuses) {
    // a page cannot read the answer of a proxy that refuses to connect
    assert.equal(causeOf(status, hasKey), failure === "proxy" ? "status" : failure);
    assert.equal(causeInNode(status, hasKey), failure);
  }
});

/** Return what fetch fails with at a server. */
async function failing(server: Server | HttpServer, scheme = "http", signal?: AbortSignal): Promise<Failure> {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  try {
    return await fetched(`${scheme}://127.0.0.1:${port}`, signal);
  } finally {
    server.close();
  }
}

async function fetched(url: string, signal?: AbortSignal): Promise<Failure> {
  try {
    await fetch(url, { redirect: "error", signal: signal ?? null });
  } catch (error) {
    return causeInNode(error, true);
  }
  throw new Error("it was answered");
}

test("real failures of a connection are told apart", async () => {
  const closed = createServer();
  await new Promise<void>((listening) => closed.listen(0, "127.0.0.1", listening));
  const { port } = closed.address() as AddressInfo;
  await new Promise((ended) => closed.close(ended));
  assert.equal(await fetched(`http://127.0.0.1:${port}`), "refused");
  assert.equal(await fetched("http://nobody.invalid"), "unknown_name");
  assert.equal(await failing(createServer((socket) => socket.destroy())), "broken");
  assert.equal(await failing(createServer((socket) => socket.end("220 mail ESMTP\r\n"))), "not_http");
  assert.equal(await failing(createServer((socket) => socket.end("HTTP/1.1 400 Bad\r\n\r\n")), "https"), "tls");
  const held = createServer((socket) => setTimeout(() => socket.destroy(), 1000));
  assert.equal(await failing(held, "http", AbortSignal.timeout(50)), "timeout");
  const moved = createHttp((_, response) => response.writeHead(302, { Location: "/elsewhere" }).end());
  assert.equal(await failing(moved), "redirect");
});

test("a certificate of an unknown authority is not trusted", async () => {
  const words = "req -new -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=127.0.0.1 -keyout -";
  const pem = execFileSync("openssl", words.split(" "), { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  assert.equal(await failing(createHttps({ key: pem, cert: pem }), "https"), "untrusted");
});

test("what a browser hides is no answer, or an origin that is not allowed", () => {
  assert.equal(causeInNode(undefined, true), "other");
  assert.equal(causeOf(new TypeError("Failed to fetch"), true), "hidden");
  assert.equal(causeOf(new DOMException("signal timed out", "TimeoutError"), true), "timeout");
});

test("a program in Node learns more", async () => {
  const device = new Device(registry(["a"]), { explain: explainInNode });
  await device.telemetry.record("a", true);
  device.collector.script.push("lost", new Response(null, { status: 503 }));
  assert.equal(await device.telemetry.flush(), "offline");
  assert.match(device.telemetry.problem!, /the connection failed; see the logs of both sides$/);
  assert.equal(await device.telemetry.flush(), "refused");
  assert.match(device.telemetry.problem!, /its store does not answer or is full \(status 503\); see/);
});

const REPLIES: readonly (readonly ["lost" | Response, Flushed, RegExp])[] = [
  ["lost", "offline", /^reports wait: the collector cannot be used: it did not answer, or does not allow this page's origin; see/],
  [new Response(null, { status: 502 }), "refused", /^reports wait: .* the proxy in front of it gets no answer \(status 502\); start/],
  [new Response("<html>a portal</html>"), "refused", /^reports wait: .* an unexpected status \(status 200\)/],
  [new Response('{"status":422,"code":"x"}', { status: 422 }), "refused", /^the collector rejected an upload with status 422\. The reports are lost\. Is the collector too old\?$/],
  [new Response('{"accepted":0,"refused":[{"index":0,"code":"window_closed"}]}'), "refused", /^the collector refused a report: window_closed$/],
  [new Response('{"accepted":0,"refused":[{"index":0,"code":"unknown_edition"}]}'), "refused", /^the collector refused a report: unknown_edition$/],
];

test("a page learns why its reports were not counted, until some are", async () => {
  for (const [reply, flushed, problem] of REPLIES) {
    const device = new Device(registry(["a", "b"]));
    await device.telemetry.record("a", true);
    device.collector.script.push(reply);
    assert.equal(await device.telemetry.flush(), flushed);
    assert.match(device.telemetry.problem!, problem);
    await device.telemetry.record("b", true); // what the storage takes does not hide it
    assert.match(device.telemetry.problem!, problem);
    device.nowS += 2 * 86_400;
    assert.equal(await device.telemetry.flush(), "sent");
    assert.equal(device.telemetry.problem, undefined);
  }
});

test("a missing key, an unknown key and a key of another role have a sentence each, without the key", async () => {
  for (const [uploadKey, status, problem] of [
    [undefined, 401, /it requires a key \(status 401\); use a key/],
    ["secret", 401, /it does not know the key \(status 401\); use a key/],
    ["secret", 403, /the key has another role \(status 403\); use a key/],
  ] as const) {
    const device = new Device(registry(["a"]), uploadKey === undefined ? {} : { uploadKey });
    await device.telemetry.record("a", true);
    device.collector.script.push(new Response(null, { status }));
    assert.equal(await device.telemetry.flush(), "refused");
    assert.match(device.telemetry.problem!, problem);
    assert.doesNotMatch(device.telemetry.problem!, /secret/);
  }
});

test("the outcomes are those of the vectors", () => {
  const recorded: Record<Recorded, 0> = {
    queued: 0, counted: 0, already_recorded: 0, out_of_budget: 0, first_window: 0, no_consent: 0, suppressed: 0, stopped: 0,
    expired: 0, unknown: 0, unavailable: 0,
  };
  const flushed: Record<Flushed, 0> = {
    sent: 0, nothing_waiting: 0, not_due: 0, offline: 0, refused: 0, no_consent: 0, suppressed: 0, unavailable: 0,
  };
  const history = { unanswered: 0, accepted: 0, rejected: 0 };
  const ours = Object.entries(vectors("outcomes.json") as Record<string, Record<string, { sdks: string[] }>>).map(
    ([kind, outcomes]) => [kind, Object.keys(outcomes).filter((name) => outcomes[name]!.sdks.includes("typescript")).sort()],
  );
  assert.deepEqual(Object.fromEntries(ours), {
    recorded: Object.keys(recorded).sort(), flushed: Object.keys(flushed).sort(), history: Object.keys(history).sort(),
  });
});

test("the history says whether a report was answered", async () => {
  const device = new Device(registry(["a"]));
  const outcomes = async () => (await device.telemetry.history()).map(({ outcome }) => outcome);
  await device.telemetry.record("a", true);
  device.collector.script.push("lost");
  await device.telemetry.flush();
  assert.deepEqual(await outcomes(), ["unanswered"]);
  await device.telemetry.flush();
  assert.deepEqual(await outcomes(), ["accepted"]);
});
