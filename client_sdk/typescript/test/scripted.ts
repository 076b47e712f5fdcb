/** Coins for tests: as a script tells them, or of a generator with a state. */

import { WordCoins, type Coins } from "../src/coins.js";

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
