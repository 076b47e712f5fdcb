/**
 * Projective geometry response: answers and symbols are points of the projective space PG(t-1, q). Points that are
 * orthogonal to the answer's point are more likely than others (Feldman, Nelson, Nguyen & Talwar 2022, section 3).
 *
 * A point is represented by its canonical vector over Z_q, read as an integer in base q. All integers are far below
 * 2^53.
 */

import { big, modulo, range, small, upTo, type Mechanism } from "../channel.js";
import { pick } from "../coins.js";

export const projectiveGeometry: Mechanism = (integers) => {
  const [prime, dimension] = [small(integers, "prime"), small(integers, "dimension")];
  const keep = big(integers, "keep_numerator");
  const { powers, firsts, number: vector, point: pointOf } = geometry(prime, dimension);
  const [orthogonal, others] = [firsts[dimension - 1]!, powers[dimension - 1]!];

  /** Return the inner product of two vectors of t - 1 coordinates. The number of steps is always the same. */
  function product(left: number, right: number): number {
    let sum = 0;
    for (let place = 1; place < dimension; place++) {
      sum += (left % prime) * (right % prime);
      left = Math.floor(left / prime);
      right = Math.floor(right / prime);
    }
    return sum;
  }

  function isOrthogonal(left: number, right: number): boolean {
    const last = (left % prime) * (right % prime);
    return (last + product(Math.floor(left / prime), Math.floor(right / prime))) % prime === 0;
  }

  const inputs = small(integers, "inputs");
  return {
    inputs,
    symbols: firsts[dimension]!,
    /** Always draw an orthogonal point and another point. */
    perturb(value, coins) {
      const kept = coins.bernoulli(keep);
      const member = pick(coins, orthogonal);
      const lie = pick(coins, others);
      const free = vector(kept ? member : orthogonal + lie) % others;
      const afterPivot = upTo(firsts, value) - 1;
      const scale = powers[afterPivot]!;
      const after = free % scale;
      const pivot = modulo((kept ? 0 : 1) - product(value - firsts[afterPivot]!, after), prime);
      return pointOf((Math.floor(free / scale) * prime + pivot) * scale + after);
    },
    likeliest: (symbol) => range(0, inputs - 1).filter((input) => isOrthogonal(vector(input), vector(symbol))),
  };
};

/** The points of PG(t-1, q): their numbers, and their canonical vectors as integers in base q. */
export interface Geometry {
  /** q^m for m from 0 to t. */
  readonly powers: readonly number[];
  /** The first point with m digits after its leading 1, for m from 0 to t. */
  readonly firsts: readonly number[];
  /** Return a point's canonical vector, read as an integer in base q. */
  number(point: number): number;
  /** Return the point of any vector other than 0, canonical or not. The number of steps is always the same. */
  point(vector: number): number;
}

export function geometry(prime: number, dimension: number): Geometry {
  const powers = Array.from({ length: dimension + 1 }, (_, digits) => prime ** digits);
  const firsts = powers.map((power) => (power - 1) / (prime - 1));
  return {
    powers,
    firsts,
    number(point) {
      const digits = upTo(firsts, point) - 1;
      return powers[digits]! + point - firsts[digits]!;
    },
    point(vector) {
      const digits = upTo(powers, vector) - 1;
      const factor = inverse(Math.floor(vector / powers[digits]!), prime);
      let rest = vector % powers[digits]!;
      let scaled = 0;
      for (let place = 0; place < dimension - 1; place++) {
        scaled += (((rest % prime) * factor) % prime) * powers[place]!;
        rest = Math.floor(rest / prime);
      }
      return firsts[digits]! + scaled;
    },
  };
}

/** Return the inverse of a unit modulo a prime. */
export function inverse(unit: number, prime: number): number {
  let [power, base, exponent] = [1, unit % prime, prime - 2];
  for (; exponent > 0; exponent = Math.floor(exponent / 2)) {
    if (exponent % 2) power = (power * base) % prime;
    base = (base * base) % prime;
  }
  return power;
}
