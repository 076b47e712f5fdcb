import assert from "node:assert/strict";
import { test } from "node:test";
import { COIN_SCALE, WordCoins, systemCoins } from "../src/coins.js";
import { ScriptedCoins, mechanism, metricOf, questionOf, vectors, type Json } from "./vectors.js";

const COINS = vectors("coins");

function check(perturb: (coins: ScriptedCoins) => number, expected: Json): void {
  const coins = new ScriptedCoins(expected.coins);
  assert.equal(perturb(coins), expected.symbol);
  assert.deepEqual(coins.asked, expected.asked);
  assert.ok(coins.isUsedUp);
}

test("every channel turns the scripted coins of the vectors into their symbols", () => {
  for (const vector of COINS.channels) {
    const channel = mechanism(vector.mechanism)(vector.integers);
    for (const each of vector.cases) check((coins) => channel.perturb(each.input, coins), each);
    const symbols = vector.cases.map((each: Json) => each.symbol as number);
    assert.ok(Math.max(...symbols) < channel.symbols, vector.mechanism);
  }
  assert.ok(COINS.channels.length >= 24);
});

test("every kind turns the answers of the vectors into their symbols", () => {
  for (const vector of COINS.kinds) {
    const definition = questionOf(vector.definition);
    if (!definition) continue;
    const metric = metricOf(definition);
    for (const each of vector.cases) check((coins) => metric.perturb(each.answer, coins), each);
  }
});

test("numbers are rounded to the grid as in the vectors, by their digits", () => {
  for (const vector of COINS.answers) {
    const metric = metricOf(questionOf(vector.definition)!);
    for (const each of vector.cases) check((coins) => metric.perturb(Number(each.answer), coins), each);
  }
});

test("uniform integers reject what would favour the low ones", () => {
  const words = [COIN_SCALE - 1n, COIN_SCALE - 2n, 7n];
  const coins = new WordCoins(() => words.shift()!);
  assert.equal(coins.below(COIN_SCALE - 2n), 7n);
  assert.deepEqual(words, []);
});

test("the system's coins fall on either side, and reach every integer", () => {
  const coins = systemCoins();
  const heads = Array.from({ length: 4000 }, () => coins.bernoulli(COIN_SCALE / 4n)).filter(Boolean).length;
  assert.ok(heads > 800 && heads < 1200, `${heads}`); // 7 standard deviations
  assert.equal(new Set(Array.from({ length: 400 }, () => coins.below(5n))).size, 5);
  assert.equal(coins.bernoulli(0n), false);
  assert.equal(coins.bernoulli(COIN_SCALE), true);
});
