/** The language-neutral vectors of the project, and their definitions as the compiler writes them. */

import { readFileSync } from "node:fs";
import { WordCoins, type Coins } from "../src/coins.js";
import type { CompiledMetric } from "../src/compiled.js";
import * as spec from "../src/spec.js";
import type { Mechanism } from "../src/channel.js";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

export function vectors(name: string): Json {
  return JSON.parse(readFileSync(new URL(`../../../../tests/vectors/${name}.json`, import.meta.url), "utf8"));
}

/** The question of each definition of the vectors, or why it is refused: `python -m tests.support.typescript`. */
const COMPILED: Record<string, CompiledMetric | string> = JSON.parse(
  readFileSync(new URL("../compiled.json", import.meta.url), "utf8"),
);

/** The questions of the vectors. */
export const questions = Object.values(COMPILED).filter((each) => typeof each !== "string");

/** Return the question of a definition; undefined if `hearsay-client compile` refuses it. */
export function questionOf(definition: string): CompiledMetric | undefined {
  const question = COMPILED[definition];
  if (question === undefined) throw new Error("no definition of the vectors; run make typescript");
  return typeof question === "string" ? undefined : question;
}

/** Return the name of the function of a mechanism or kind: projectiveGeometry. */
function functionOf(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

export function mechanism(name: string): Mechanism {
  return (spec as unknown as Record<string, Mechanism>)[functionOf(name)]!;
}

export function metricOf(definition: CompiledMetric): spec.Metric {
  const kinds = [definition.kind, ...(definition.domain.cross ?? []).map(({ kind }) => kind)];
  const functions = spec as unknown as Record<string, spec.Kind>;
  return new spec.Metric("m", definition, {
    mechanisms: { [definition.mechanism]: mechanism(definition.mechanism) },
    kinds: Object.fromEntries(kinds.map((kind) => [kind, functions[functionOf(kind)]!])),
  });
}

/** Coins that fall as they are told, and remember what they were asked for. */
export class ScriptedCoins implements Coins {
  readonly asked: [string, string][] = [];
  private next = 0;

  constructor(private readonly script: readonly (boolean | number | string)[]) {}

  bernoulli(numerator: bigint): boolean {
    this.asked.push(["bernoulli", String(numerator)]);
    const fallen = this.take();
    if (typeof fallen !== "boolean") throw new Error("the script has no bernoulli coin here");
    return fallen;
  }

  below(bound: bigint): bigint {
    this.asked.push(["below", String(bound)]);
    const fallen = this.take();
    if (typeof fallen === "boolean") throw new Error("the script has no uniform integer here");
    return BigInt(fallen);
  }

  get isUsedUp(): boolean {
    return this.next === this.script.length;
  }

  private take(): boolean | number | string {
    const fallen = this.script[this.next++];
    if (fallen === undefined) throw new Error("the script has ended");
    return fallen;
  }
}

/** Coins of a generator with a state: statistics in tests must not depend on luck. */
export function seeded(seed: bigint): Coins {
  let state = seed;
  return new WordCoins(() => {
    state = BigInt.asUintN(64, state + 0x9e3779b97f4a7c15n);
    let word = state;
    word = BigInt.asUintN(64, (word ^ (word >> 30n)) * 0xbf58476d1ce4e5b9n);
    word = BigInt.asUintN(64, (word ^ (word >> 27n)) * 0x94d049bb133111ebn);
    return word ^ (word >> 31n);
  });
}
