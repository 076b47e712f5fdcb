/**
 * Square wave and optimal mean: the symbols in a band around the answer are more likely than all others.
 *
 * Source: Li et al. 2020, "Estimating numerical distributions under local differential privacy", section 5.
 */

import { big, list, range, small, upTo, type Channel, type Integers, type Mechanism } from "../channel.js";
import type { Coins } from "../coins.js";

/**
 * One band of symbols for each *place*, which is a possible position of the answer. All bands have the same width. All
 * symbols in the answer's band have the same probability. All other symbols have the same, lower probability.
 */
interface Bands {
  readonly symbols: number;
  readonly total: bigint;
  /** Return the first and the last place whose band contains a symbol. */
  places(symbol: number): readonly [number, number];
  /**
   * Return the symbol for the random number `drawn`, from 0 to total - 1. The computation is the same inside and
   * outside the band.
   */
  pick(place: number, drawn: bigint): number;
}

function bandsOf(places: number, integers: Integers): Bands {
  const [width, light, heavy] = [small(integers, "width"), big(integers, "light"), big(integers, "heavy")];
  const inBand = BigInt(width) * heavy;
  return {
    symbols: places - 1 + width,
    total: inBand + BigInt(places - 1) * light,
    places: (symbol) => [Math.max(0, symbol - width + 1), Math.min(places - 1, symbol)],
    pick(place, drawn) {
      const isBeyond = drawn >= inBand;
      const other = Number((drawn - (isBeyond ? inBand : 0n)) / (isBeyond ? light : heavy));
      const [within, beyond] = [place + other, other + (other < place ? 0 : width)];
      return isBeyond ? beyond : within;
    },
  };
}

/** Return the channel in which every input is a place. The channel draws one coin. */
export const squareWave: Mechanism = (integers) => {
  const inputs = small(integers, "inputs");
  const { symbols, total, pick, places } = bandsOf(inputs, integers);
  return {
    inputs,
    symbols,
    perturb: (value, coins) => pick(value, coins.below(total)),
    likeliest: (symbol) => range(...places(symbol)),
  };
};

/**
 * Return the channel in which only some unevenly spaced inputs are places (knots). The first coin selects one of the
 * two knots around the input, and the second coin selects the symbol.
 */
export const optimalMean: Mechanism = (integers): Channel => {
  const steps = list(integers, "steps").map(Number);
  const bands = bandsOf(steps.length + 1, integers);
  const knots = [0];
  for (const step of steps) knots.push(knots.at(-1)! + step);
  const resolution = steps.map(BigInt).reduce(leastCommonMultiple);
  return {
    inputs: knots.at(-1)! + 1,
    symbols: bands.symbols,
    perturb(value: number, coins: Coins): number {
      const place = Math.min(upTo(knots, value), steps.length) - 1;
      const numerator = (resolution / BigInt(steps[place]!)) * BigInt(value - knots[place]!);
      const chosen = place + (coins.below(resolution) < numerator ? 1 : 0);
      return bands.pick(chosen, coins.below(bands.total));
    },
    likeliest(symbol) {
      const [first, last] = bands.places(symbol);
      return range(knots[first]!, knots[last]!);
    },
  };
};

function leastCommonMultiple(left: bigint, right: bigint): bigint {
  let [divisor, rest] = [left, right];
  while (rest) [divisor, rest] = [rest, divisor % rest];
  return (left / divisor) * right;
}
