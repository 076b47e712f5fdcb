/** Randomized response on two or k values (Warner 1965; Kairouz, Bonawitz & Ramage 2016, section 3). */

import { big, small, type Channel, type Mechanism } from "../channel.js";
import { pick, type Coins } from "../coins.js";

/** Return the channel that keeps the truth with a known probability, and otherwise reports the opposite. */
export const randomizedResponse: Mechanism = (integers) => {
  const keep = big(integers, "keep_numerator");
  return { inputs: 2, symbols: 2, perturb: (value, coins) => (coins.bernoulli(keep) ? value : 1 - value), likeliest };
};

function likeliest(symbol: number): number[] {
  return [symbol];
}

/** Randomized response on the two ends of a range. */
export const oneBit: Mechanism = randomizedResponse;

/**
 * Randomized response about one of several values. The kind draws the value j, and the channel perturbs the yes or no
 * about j. Symbol 2 j + 1 means yes, and 2 j means no.
 */
export const oneOf: Mechanism = (integers) => {
  const [keep, inputs] = [big(integers, "keep_numerator"), small(integers, "inputs")];
  return { inputs, symbols: 2 * inputs, perturb: (value, coins) => (coins.bernoulli(keep) ? value : value ^ 1), likeliest };
};

export const kAryRandomizedResponse: Mechanism = (integers) =>
  kAry(small(integers, "inputs"), big(integers, "keep_numerator"));

/** Return the channel that reports the true value or, at random, another value. The other value is always drawn. */
export function kAry(inputs: number, keep: bigint): Channel {
  return {
    inputs,
    symbols: inputs,
    perturb(value: number, coins: Coins): number {
      const kept = coins.bernoulli(keep);
      const steps = 1 + pick(coins, inputs - 1);
      return kept ? value : (value + steps) % inputs;
    },
    likeliest,
  };
}
