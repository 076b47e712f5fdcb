/** The vectors of the project, and what coins promise beside them. */

import assert from "node:assert/strict";
import { test } from "node:test";
import { COIN_SCALE, WordCoins, systemCoins } from "../src/coins.js";
import { CHECKS } from "./checks.js";
import { VECTORS } from "./vectors.js";

for (const [name, check] of Object.entries(CHECKS)) test(name, () => check(VECTORS));

test("uniform integers reject what would favor the low ones", () => {
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

test("each check fails if a vector says something else", async () => {
  const changes: ((vectors: Record<string, any>) => void)[] = [ // eslint-disable-line @typescript-eslint/no-explicit-any
    ({ coins }) => (coins.channels[0].cases[0].symbol += 1),
    ({ coins }) => (coins.kinds[0].cases[0].symbol += 1),
    ({ coins }) => coins.answers[0].cases[0].asked.push(["below", "2"]),
    ({ invalid }) => (invalid.answers[0].cases[0].became = "clipped"),
    ({ editions }) => (editions[0].edition = "0123456789ab"),
    ({ said }) => (said.reports[0].words.de += "!"),
    ({ said }) => (said.numbers[0].words.de += "!"),
    ({ windows }) => (windows.parse.at(-1).ends_at += 86_400),
    ({ uploads }) => (uploads.find((each: { canonical?: boolean }) => each.canonical).upload.upload = "0"),
    ({ verdicts }) => (verdicts.malformed.at(-1).place = "elsewhere"),
    ({ stopped }) => stopped.at(-1).stopped.push("a:0123456789ab"),
    ({ consent }) => (consent.decisions.at(-1).consent = "suppressed"),
    ({ consent }) => consent.standings.cases[0].withheld.push("a"),
    ({ choices }) => (choices.statuses.at(-1).words.de[0] += "!"),
  ];
  const checks = Object.values(CHECKS);
  assert.equal(changes.length, checks.length);
  for (const [place, change] of changes.entries()) {
    const vectors = structuredClone(VECTORS);
    change(vectors);
    await assert.rejects(async () => checks[place]!(vectors), /where the vectors have/);
  }
});
