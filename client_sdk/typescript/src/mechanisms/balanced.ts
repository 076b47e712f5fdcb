/**
 * Balanced designs: a report names a block of s values. All pairs of values are in the same number of blocks.
 *
 * Sources: Park, Nam & Lee 2023, section IV; Wilson 1972, "Cyclotomy and difference families in elementary abelian
 * groups", section 3 (blocks for a prime number of points).
 */

import { big, list, modulo, range, rising, small, sums, upTo, type Mechanism } from "../channel.js";
import { pick } from "../coins.js";
import { byWords } from "./words.js";

const WORDS_OF = "hearsay balanced design 1";

export const balancedDesign: Mechanism = (integers) => {
  const [points, blockSize, order] = [
    small(integers, "points"),
    small(integers, "block_size"),
    small(integers, "order"),
  ];
  const keep = big(integers, "keep_numerator");
  const starters = list(integers, "starters").map(Number);
  const ends = sums(list(integers, "weights"));
  const total = ends.at(-1)!;
  const factors = multipliers(points, order);
  const known = new Map<number, number[]>();

  /** Return all values: the members of a starter, then the others. */
  function values(starter: number): number[] {
    let all = known.get(starter);
    if (!all) known.set(starter, (all = valuesByStarter(points, blockSize, order, starters[starter]!)));
    return all;
  }

  const inputs = small(integers, "inputs");
  return {
    inputs,
    symbols: starters.length * factors.length * points,
    /** A member and a non-member of the base block are always both drawn. Neither draw depends on the value. */
    perturb(value, coins) {
      const drawn = coins.below(total * BigInt(factors.length));
      const place = Number(drawn / total);
      const starter = upTo(ends, drawn % total);
      const kept = coins.bernoulli(keep);
      const member = pick(coins, blockSize);
      const lie = pick(coins, points - blockSize);
      const element = values(starter)[kept ? member : blockSize + lie]!;
      return (starter * factors.length + place) * points + modulo(value - factors[place]! * element, points);
    },
    /** A block may contain no input if there are more points than inputs. All inputs are then equally likely. */
    likeliest(symbol) {
      const base = Math.floor(symbol / points);
      const members = values(Math.floor(base / factors.length)).slice(0, blockSize);
      const factor = factors[base % factors.length]!;
      const held = members.map((element) => (factor * element + symbol) % points).filter((value) => value < inputs);
      return held.length ? rising(held) : range(0, inputs - 1);
    },
  };
};

/** Return the smallest unit of each coset of a group: the units with unit^order = 1, and their negatives. */
function multipliers(points: number, order: number): number[] {
  const signed = subgroup(points, order).flatMap((unit) => [unit, points - unit]);
  return cosets(points, [...new Set(signed)])
    .map((coset) => coset[0]!)
    .filter((least) => greatestCommonDivisor(least, points) === 1);
}

function valuesByStarter(points: number, blockSize: number, order: number, starter: number): number[] {
  if (!isPrime(points)) return byWords(WORDS_OF, [points, blockSize, starter], points);
  const units = cosets(points, subgroup(points, order)).flat();
  return blockSize % order === 1 ? [0, ...units] : [...units, 0];
}

/** Return the units of a prime with unit^order = 1; [1] for order 1 and any number of points. */
function subgroup(points: number, order: number): number[] {
  for (let unit = 1; ; unit++) {
    const generator = order > 1 ? power(unit, (points - 1) / order, points) : 1;
    const group = [1];
    for (let member = generator; member !== 1; member = (member * generator) % points) group.push(member);
    if (group.length === order) return group;
  }
}

/** Return the cosets of a group of units, sorted by their smallest values; 0 is left out. */
function cosets(points: number, group: readonly number[]): number[][] {
  const seen = new Set<number>();
  const all: number[][] = [];
  for (let value = 1; value < points; value++) {
    if (seen.has(value)) continue;
    const coset = group.map((unit) => (value * unit) % points).sort((left, right) => left - right);
    coset.forEach((member) => seen.add(member));
    all.push(coset);
  }
  return all;
}

function power(base: number, exponent: number, modulus: number): number {
  let result = 1;
  for (let step = 0; step < exponent; step++) result = (result * base) % modulus;
  return result;
}

function isPrime(number: number): boolean {
  for (let divisor = 2; divisor * divisor <= number; divisor++) if (number % divisor === 0) return false;
  return true;
}

function greatestCommonDivisor(left: number, right: number): number {
  return right ? greatestCommonDivisor(right, left % right) : left;
}
