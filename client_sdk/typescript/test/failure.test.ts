import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { createServer as createHttp, type Server as HttpServer } from "node:http";
import { createServer as createHttps } from "node:https";
import { createServer, type AddressInfo, type Server } from "node:net";
import { test } from "node:test";
import { causeOf, explain, FAILURES, type Failure } from "../src/failure.js";
import { Device, registry } from "./devices.js";

interface Vectors {
  readonly failures: Readonly<Record<string, { readonly what: string; readonly advice: string }>>;
  readonly statuses: readonly { readonly status: number; readonly failure: Failure }[];
}

const VECTORS = JSON.parse(
  readFileSync(new URL("../../../../tests/vectors/failures.json", import.meta.url), "utf8"),
) as Vectors;

/** What only other clients meet. */
const ABSENT = ["disk", "password", "loading"];

test("the causes and their advice are those of the vectors", () => {
  for (const [name, { what, advice }] of Object.entries(VECTORS.failures)) {
    if (!ABSENT.includes(name)) assert.deepEqual(FAILURES[name as Failure], [what, advice]);
  }
  assert.equal(Object.keys(FAILURES).length + ABSENT.length, Object.keys(VECTORS.failures).length);
  for (const { status, failure } of VECTORS.statuses) assert.equal(causeOf(status), failure);
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
    return causeOf(error);
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

test("what a browser hides is of no known cause", () => {
  assert.equal(causeOf(new TypeError("Failed to fetch")), "other");
  assert.equal(causeOf(undefined), "other");
});

test("an app learns why its reports wait until they are delivered", async () => {
  const device = new Device(registry(["a"]));
  await device.telemetry.record("a", true);
  device.collector.script.push(new Response(null, { status: 502 }), "lost");
  assert.equal(await device.telemetry.flush(), "waiting");
  assert.match(explain(device.telemetry.failure), /^the collector cannot be used: the proxy in front of it gets no answer; start/);
  assert.equal(await device.telemetry.flush(), "waiting");
  assert.match(explain(device.telemetry.failure), /the connection failed; see the logs of both sides$/);
  assert.equal(await device.telemetry.flush(), "sent");
  assert.equal(device.telemetry.failure, undefined);
});
