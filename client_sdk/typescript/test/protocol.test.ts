import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { test } from "node:test";
import type { CompiledMetric, CompiledRegistry } from "../src/compiled.js";
import { OutsideDomainError } from "../src/errors.js";
import { edited } from "../src/testing.js";
import { trial } from "../src/trial.js";
import { shake256 } from "../src/mechanisms/shake.js";
import { registry } from "./devices.js";
import { metricFor, type Json } from "./checks.js";
import { ScriptedCoins } from "./scripted.js";
import { VECTORS, compiledMetrics } from "./vectors.js";

test("SHAKE-256 is that of Node, at every length around its block", () => {
  for (let length = 0; length < 290; length++) {
    const [input, size] = [Uint8Array.from({ length }, (_, byte) => (7 * byte + length) % 256), 1 + ((37 * length) % 600)];
    const expected = createHash("shake256", { outputLength: size }).update(input).digest("hex");
    assert.equal(Buffer.from(shake256(input, size)).toString("hex"), expected, `${length}`);
  }
});

test("an answer outside the domain has no input, and any input of the channel takes its place", () => {
  const wrong: unknown[] = [NaN, null, undefined, {}, [NaN], Symbol("x"), () => "x"];
  for (const definition of compiledMetrics) {
    const metric = metricFor(definition);
    const inputs = Number(definition.integers.inputs ?? metric.channel.inputs); // a pair of inputs is drawn as two
    for (const answer of wrong) {
      for (const input of [0, inputs - 1]) {
        const coins = new ScriptedCoins([input]);
        const isNoted: boolean[] = [];
        const note = () => isNoted.push(true);
        assert.throws(() => metric.perturb(answer, coins, note), /the script has ended/); // the channel's own coins
        assert.deepEqual([coins.asked[0], isNoted], [["below", String(inputs)], [true]]);
      }
    }
    assert.ok(metric.mistake instanceof OutsideDomainError);
  }
});

test("a compiled file that somebody edited is found, whatever edition was changed", async () => {
  const { definition } = VECTORS.editions.find((vector: Json) => vector.trial);
  const tried = VECTORS.compiled[definition] as CompiledMetric;
  const real = compiledMetrics.filter((metric) => metric !== tried);
  const metrics = Object.fromEntries(real.map((metric, place) => [`m${place}`, metric]));
  const asking = { ...registry([]), metrics };
  assert.deepEqual(await edited(asking), []);
  assert.deepEqual(await edited({ ...asking, metrics: { tried }, trial }), []);
  assert.deepEqual(await edited({ ...asking, metrics: { tried } }), ["tried"]);
  const first = { ...metrics["m0"]!, strata: { "platform=ios": metrics["m0"]!.edition } };
  const second = { ...metrics["m1"]!, domain: { ...metrics["m1"]!.domain, max_items: 99 } };
  assert.deepEqual(await edited({ ...asking, metrics: { ...metrics, m0: first, m1: second } }), ["m0", "m1"]);
});

test("a compiled file with types is checked as it is", async () => {
  interface Answers {
    a: boolean;
  }
  const typed: CompiledRegistry<Answers, never> = { ...registry(["a"]), types: { answers: { a: true }, counts: undefined as never } };
  assert.deepEqual(await edited(typed), []);
});
