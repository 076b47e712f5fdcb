/** Numbers, which are rounded to a grid at random and without bias. */

import { COIN_SCALE, type Coins } from "../coins.js";
import type { DomainDefinition } from "../compiled.js";
import { between, difference, exact, fraction, position, type Rational } from "../rational.js";
import { written } from "../sentences.js";
import type { Domain, Kind } from "./kind.js";

/** Of a threshold, at most so many decimals are written. */
const DECIMALS = 6;

export const number: Kind = (definition, inputs) => {
  const [low, high] = [fraction(definition.low!), fraction(definition.high!)];
  const thresholds = definition.thresholds?.map(fraction);
  return {
    expected: `a finite number from ${definition.low} to ${definition.high}`,
    size: thresholds ? inputs : 0,
    encode(answer, coins) {
      const given = exact(answer);
      if (!given || !thresholds) return given && onGrid(given, low, high, definition, inputs, coins);
      if (definition.clip === false && (!reaches(given, low) || !reaches(high, given))) return undefined;
      return thresholds.filter((threshold) => reaches(given, threshold)).length;
    },
    label: thresholds ? cellsOf([low, ...thresholds, high]) : pointsOf(low, high, inputs),
  };
};

/** Return what writes the ends of a cell between two thresholds. */
function cellsOf(ends: readonly Rational[]): Domain["label"] {
  return (input, say) => {
    const [low, high] = [0, 1].map((end) => written(ends[input + end]!, DECIMALS, say));
    return say("reported.range", { low: low!, high: high! });
  };
}

function reaches(number: Rational, other: Rational): boolean {
  return difference(number, other)[0] >= 0n;
}

export const count: Kind = (definition, inputs) => {
  const most = definition.max!;
  const [low, high] = [exact(0)!, exact(most)!];
  return {
    expected: `a whole number from 0 to ${most}`,
    size: 0,
    encode(answer, coins) {
      const isWhole = typeof answer === "bigint" || Number.isInteger(answer) || Math.abs(answer as number) === Infinity;
      const given = isWhole ? exact(answer) : undefined;
      return given && onGrid(given, low, high, definition, inputs, coins);
    },
    label: pointsOf(low, high, inputs),
  };
};

/** Return what writes a point of an even grid, with as many decimals as tell a thousandth of its range apart. */
function pointsOf(low: Rational, high: Rational, inputs: number): Domain["label"] {
  const [range, unit] = difference(high, low);
  let decimals = 0;
  while (range * 10n ** BigInt(decimals) < 1000n * unit) decimals++;
  return (input, say) => written(between(low, high, BigInt(input), BigInt(inputs - 1)), decimals, say);
}

/**
 * Return one of the two points of an even grid that enclose a number; the nearer one is likelier. One coin.
 *
 * A number beyond an end is that end, unless it is not to be clipped.
 */
function onGrid(
  given: Rational,
  low: Rational,
  high: Rational,
  { clip = true }: DomainDefinition,
  inputs: number,
  coins: Coins,
): number | undefined {
  const cells = BigInt(inputs - 1);
  let [numerator, denominator] = position(given, low, high, cells);
  if (numerator < 0n || numerator > cells * denominator) {
    if (!clip) return undefined;
    [numerator, denominator] = [numerator < 0n ? 0n : cells, 1n];
  }
  const whole = numerator / denominator;
  const point = whole < cells ? whole : cells - 1n;
  const up = coins.bernoulli(((numerator - point * denominator) * COIN_SCALE) / denominator);
  return Number(point) + (up ? 1 : 0);
}
