/** Kinds of numbers. A number is rounded to a grid at random, without bias. */

import { COIN_SCALE, type Coins } from "../coins.js";
import type { DomainDefinition } from "../compiled.js";
import { between, difference, exact, fraction, logUnits, position, type Rational } from "../rational.js";
import { written } from "../sentences.js";
import type { Domain, Kind } from "./kind.js";

/** The maximum number of decimals of a printed threshold. */
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
    label: thresholds ? cellsOf([low, ...thresholds, high]) : pointsOf(low, high, inputs, definition.scale),
  };
};

/** Return a function that describes an input as the range between two thresholds. */
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

/** Return a function that describes an input as a grid point, with decimals for thousandths of the range. */
function pointsOf(low: Rational, high: Rational, inputs: number, scale?: string): Domain["label"] {
  const [range, unit] = difference(high, low);
  let decimals = 0;
  while (range * 10n ** BigInt(decimals) < 1000n * unit) decimals++;
  const [first, last] = [low, high].map((end) => Math.log1p(Number(end[0]) / Number(end[1]))) as [number, number];
  const cells = inputs - 1;
  return (input, say) => {
    const point = scale
      ? exact(Math.expm1(first + ((last - first) * input) / cells))!
      : between(low, high, BigInt(input), BigInt(cells));
    return written(point, decimals, say);
  };
}

/**
 * Draw one of the two grid points next to a number, with one coin. The nearer point is more likely.
 *
 * A number outside the range is invalid or, with `clip`, counts as the nearer end. Grid points are equally spaced in x
 * or in log(1 + x), for a number x.
 */
function onGrid(
  given: Rational,
  low: Rational,
  high: Rational,
  { clip = true, scale }: DomainDefinition,
  inputs: number,
  coins: Coins,
): number | undefined {
  const cells = BigInt(inputs - 1);
  let [numerator, denominator] = position(given, low, high, cells);
  if (numerator < 0n || numerator > cells * denominator) {
    if (!clip) return undefined;
    [numerator, denominator] = [numerator < 0n ? 0n : cells, 1n];
  } else if (scale) {
    [numerator, denominator] = position(logUnits(given), logUnits(low), logUnits(high), cells);
  }
  const whole = numerator / denominator;
  const point = whole < cells ? whole : cells - 1n;
  const up = coins.bernoulli(((numerator - point * denominator) * COIN_SCALE) / denominator);
  return Number(point) + (up ? 1 : 0);
}
