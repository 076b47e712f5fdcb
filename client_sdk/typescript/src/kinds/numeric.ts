/** Numbers, which are rounded to a grid at random and without bias. */

import { COIN_SCALE, type Coins } from "../coins.js";
import { exact, fraction, position, type Rational } from "../rational.js";
import type { Kind } from "./kind.js";

export const number: Kind = (definition, inputs) => {
  const [low, high] = [fraction(definition.low!), fraction(definition.high!)];
  return {
    expected: `a finite number from ${definition.low} to ${definition.high}`,
    size: 0,
    encode(answer, coins) {
      const given = exact(answer);
      return given && onGrid(given, low, high, inputs, coins);
    },
  };
};

export const count: Kind = (definition, inputs) => {
  const most = definition.max!;
  const [low, high] = [exact(0)!, exact(most)!];
  return {
    expected: `a whole number from 0 to ${most}`,
    size: 0,
    encode(answer, coins) {
      const given = typeof answer === "bigint" || Number.isInteger(answer) ? exact(answer) : undefined;
      return given && onGrid(given, low, high, inputs, coins);
    },
  };
};

/** Return one of the two points of an even grid that enclose a number; the nearer one is likelier. One coin. */
function onGrid(given: Rational, low: Rational, high: Rational, inputs: number, coins: Coins): number | undefined {
  const cells = BigInt(inputs - 1);
  const [numerator, denominator] = position(given, low, high, cells);
  if (numerator < 0n || numerator > cells * denominator) return undefined;
  const whole = numerator / denominator;
  const point = whole < cells ? whole : cells - 1n;
  const up = coins.bernoulli(((numerator - point * denominator) * COIN_SCALE) / denominator);
  return Number(point) + (up ? 1 : 0);
}
