/**
 * Channels with weights: added noise on a grid, and the exponential mechanism.
 *
 * Sources: Ghosh, Roughgarden & Sundararajan 2012, definition 2.2; Balle & Wang 2018; McSherry & Talwar 2007, section
 * 3.
 */

import { list, range, small, sums, upTo, type Mechanism } from "../channel.js";

/**
 * Return the channel that adds symmetric noise. A sum beyond an end of the grid counts as the end. The channel draws
 * one coin.
 */
export const laplace: Mechanism = (integers) => {
  const [inputs, reach, weights] = [small(integers, "inputs"), small(integers, "reach"), list(integers, "weights")];
  const rising = sums(weights);
  const positive = rising.at(-1)!;
  const symbols = inputs + 2 * reach;
  return {
    inputs,
    symbols,
    perturb(value, coins) {
      const drawn = coins.below(2n * positive - weights[0]!);
      const sign = drawn < positive ? 1 : -1;
      const noise = sign * upTo(rising, drawn - (sign < 0 ? positive - weights[0]! : 0n));
      return Math.min(Math.max(value + noise + reach, 0), symbols - 1);
    },
    likeliest: (symbol) => [Math.min(Math.max(symbol - reach, 0), inputs - 1)],
  };
};

export const gaussian: Mechanism = laplace;

/** Return the channel of a table with one row of weights for each input. The channel draws one coin. */
export const exponential: Mechanism = (integers) => {
  const [inputs, weights] = [small(integers, "inputs"), list(integers, "weights")];
  const rows = Array.from({ length: inputs }, (_, row) => sums(weights.slice(row * inputs, (row + 1) * inputs)));
  const total = rows[0]!.at(-1)!;
  return {
    inputs,
    symbols: inputs,
    perturb: (value, coins) => upTo(rows[value]!, coins.below(total)),
    likeliest(symbol) {
      const chances = range(0, inputs - 1).map((input) => weights[input * inputs + symbol]!);
      const greatest = chances.reduce((most, chance) => (chance > most ? chance : most));
      return range(0, inputs - 1).filter((input) => chances[input] === greatest);
    },
  };
};
