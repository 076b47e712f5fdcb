import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import { MalformedError, OutsideDomainError } from "../src/errors.js";
import { meaning } from "../src/meaning.js";
import { edited } from "../src/testing.js";
import { parseWindow, windowOf, DAY_S } from "../src/window.js";
import { shake256 } from "../src/mechanisms/shake.js";
import { decodeStopped } from "../src/stops.js";
import { REFUSALS, decodeVerdict, encodeUpload } from "../src/wire.js";
import { registry } from "./devices.js";
import { ScriptedCoins, metricOf, questionOf, questions, vectors } from "./vectors.js";

test("a compiled question has the edition, mechanism, integers, symbols and charge of the vectors", () => {
  for (const vector of vectors("editions")) {
    const metric = questionOf(vector.definition);
    if (!metric) continue;
    assert.equal(meaning(metric), vector.meaning, vector.name);
    const digest = createHash("sha256").update(meaning(metric)).digest("hex");
    assert.equal(digest.slice(0, 12), vector.edition);
    assert.equal(metric.edition, vector.edition);
    assert.equal(metric.mechanism, vector.mechanism);
    assert.deepEqual(metric.integers, vector.integers);
    assert.equal(metric.nanos, vector.epsilon_nanos);
    assert.equal(metricOf(metric).channel.symbols, vector.symbols);
  }
});

test("windows are those of the vectors", () => {
  const windows = vectors("windows");
  for (const { instant_s, day, week, month } of windows.of) {
    assert.deepEqual(
      (["day", "week", "month"] as const).map((kind) => windowOf(kind, instant_s).text),
      [day, week, month],
    );
  }
  for (const { text, kind, starts_at, ends_at } of windows.parse) {
    const window = parseWindow(text)!;
    assert.deepEqual([window.firstDay * DAY_S, window.endDay * DAY_S], [starts_at, ends_at]);
    assert.deepEqual(windowOf(kind, starts_at), window);
  }
  for (const text of windows.invalid) assert.equal(parseWindow(text), undefined, text);
});

test("uploads have exactly the canonical bodies of the vectors", () => {
  const canonical = vectors("uploads").filter((vector: { canonical?: boolean }) => vector.canonical);
  for (const { body, upload } of canonical) assert.equal(encodeUpload(upload), body);
  assert.ok(canonical.length >= 5);
});

test("verdicts are read as in the vectors", () => {
  const { codes, valid, malformed } = vectors("verdicts");
  for (const { code, retryable } of codes) assert.equal(REFUSALS[code], retryable);
  assert.equal(Object.keys(REFUSALS).length, codes.length);
  for (const { body, reports, refused } of valid) assert.deepEqual(decodeVerdict(body, reports), refused);
  for (const { name, body, reports, code, place } of malformed) {
    assert.throws(
      () => decodeVerdict(body, reports),
      (error) => error instanceof MalformedError && error.code === code && error.place === place,
      name,
    );
  }
});

test("stopped questions are read from their header as in the vectors", () => {
  for (const { header, stopped } of vectors("stopped")) assert.deepEqual(decodeStopped(header), stopped);
  assert.deepEqual(decodeStopped(), []);
});

test("SHAKE-256 is that of Node, at every length around its block", () => {
  for (let length = 0; length < 290; length++) {
    const [input, size] = [Uint8Array.from({ length }, (_, byte) => (7 * byte + length) % 256), 1 + ((37 * length) % 600)];
    const expected = createHash("shake256", { outputLength: size }).update(input).digest("hex");
    assert.equal(Buffer.from(shake256(input, size)).toString("hex"), expected, `${length}`);
  }
});

test("an answer outside the domain is refused in words that do not hold it", () => {
  const wrong: unknown[] = ["canary-7f3a", 12345678, NaN, Infinity, null, undefined, {}, ["canary-7f3a"], 0.5, Symbol("x")];
  for (const definition of questions) {
    for (const answer of wrong) {
      const coins = new ScriptedCoins([]);
      try {
        metricOf(definition).perturb(answer, coins);
      } catch (error) {
        if (!(error instanceof OutsideDomainError)) continue; // the answer is one, and would need coins
        assert.doesNotMatch(error.message, /canary|12345678/);
      }
    }
  }
});

test("a compiled file that somebody edited is found, whatever edition was changed", async () => {
  const metrics = Object.fromEntries(questions.map((question, place) => [`m${place}`, question]));
  const asking = { ...registry([]), metrics };
  assert.deepEqual(await edited(asking), []);
  const first = { ...metrics["m0"]!, strata: { "platform=ios": metrics["m0"]!.edition } };
  const second = { ...metrics["m1"]!, domain: { ...metrics["m1"]!.domain, max_items: 99 } };
  assert.deepEqual(await edited({ ...asking, metrics: { ...metrics, m0: first, m1: second } }), ["m0", "m1"]);
});
