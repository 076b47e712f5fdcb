/**
 * Coins: the source of randomness, passed to a mechanism as an argument.
 *
 * `systemCoins` draws a new 64-bit word from the system's generator for every decision. Nothing is seeded or buffered.
 */

/** A source of random decisions: the system's generator in an app, prepared numbers in a test. */
export interface Coins {
  /** Return true with probability numerator / 2^64, for a numerator from 0 to 2^64. */
  bernoulli(numerator: bigint): boolean;
  /** Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2^64. */
  below(bound: bigint): bigint;
}

/** The denominator of all probabilities. */
export const COIN_SCALE = 1n << 64n;

/** Coins from 64-bit words. Each word is uniform from 0 to 2^64 - 1. */
export class WordCoins implements Coins {
  constructor(private readonly word: () => bigint) {}

  bernoulli(numerator: bigint): boolean {
    return this.word() < numerator;
  }

  /** Words from the largest multiple of the bound on are drawn again: their remainders would favor low integers. */
  below(bound: bigint): bigint {
    const unbiased = COIN_SCALE - (COIN_SCALE % bound);
    for (;;) {
      const drawn = this.word();
      if (drawn < unbiased) return drawn % bound;
    }
  }
}

/** Return coins from the system's cryptographic generator. The word is wiped after each decision. */
export function systemCoins(): Coins {
  const word = new BigUint64Array(1);
  return new WordCoins(() => {
    crypto.getRandomValues(word);
    const drawn = word[0]!;
    word[0] = 0n;
    return drawn;
  });
}

/** Return a uniform integer from 0 to bound - 1, for a bound of at most 2^53. */
export function pick(coins: Coins, bound: number): number {
  return Number(coins.below(BigInt(bound)));
}
