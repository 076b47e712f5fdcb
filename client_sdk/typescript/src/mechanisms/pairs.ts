/**
 * Pair geometry: two elements of a padded set are drawn. The report is a block that most likely contains one or both.
 *
 * Each element is a point of PG(t-1, q). No three of these points lie on a line. A block consists of the elements on
 * one hyperplane. The kind `set` draws the pair of elements: the input for a and b of K elements is a * K + b.
 */

import { big, modulo, range, small, type Mechanism } from "../channel.js";
import { pick } from "../coins.js";
import { geometry, inverse } from "./projective.js";

export const pairGeometry: Mechanism = (integers) => {
  const [elements, prime] = [small(integers, "inputs"), small(integers, "prime")];
  const [dimension, drawn] = [small(integers, "dimension"), small(integers, "drawn")];
  const keep = big(integers, "keep_numerator");
  const { firsts, number, point } = geometry(prime, dimension);
  const [symbols, each, both] = [firsts[dimension]!, prime ** (dimension - 2), firsts[dimension - 2]!];
  const favored = 2 * each + (drawn === 2 ? both : 0);
  const squares = new Set(range(0, prime - 1).map((root) => (root * root) % prime));
  const residue = range(0, prime - 1).find((value) => !squares.has(value))!;

  /** Return an element's vector: 1, its digits in base q, and a quadratic form of every two digits. */
  function vector(element: number): number[] {
    const digits = range(1, Math.floor((2 * (dimension - 1)) / 3)).map((place) => digit(element, place - 1));
    const forms = range(0, dimension - 2 - digits.length).map((place) => {
      const [first, second] = [digits[2 * place]!, digits[2 * place + 1] ?? 0];
      return modulo(first * first - residue * second * second, prime);
    });
    return [1, ...digits, ...forms];
  }

  function digit(integer: number, place: number): number {
    return Math.floor(integer / prime ** place) % prime;
  }

  /**
   * Return three numbers that determine the block at a place. A pair's favored blocks have the first places. Two
   * numbers are the inner products of the block's vector with the elements' vectors. The third contains all other
   * coordinates.
   */
  function split(place: number): [number, number, number] {
    if (place < 2 * each) return place < each ? [0, 1, place] : [1, 0, place - each];
    const rest = place - 2 * each - both;
    if (rest < 0) return [0, 0, number(place - 2 * each)];
    return [1, 1 + Math.floor(rest / each), rest % each];
  }

  return {
    inputs: elements * elements,
    symbols,
    /** A favored block and another block are always both drawn. */
    perturb(value, coins) {
      const kept = coins.bernoulli(keep);
      const member = pick(coins, favored);
      const lie = favored + pick(coins, symbols - favored);
      const [first, second, free] = split(kept ? member : lie);
      const left = vector(Math.floor(value / elements));
      const apart = vector(value % elements).map((coordinate, place) => modulo(left[place]! - coordinate, prime));
      const pivot = apart.findIndex((difference) => difference > 0);
      const block = left.map(() => 0);
      let rest = free;
      for (let place = dimension - 1; place > 0; place--) {
        if (place === pivot) continue;
        block[place] = rest % prime;
        rest = Math.floor(rest / prime);
      }
      block[pivot] = modulo((first - second - product(block, apart)) * inverse(apart[pivot]!, prime), prime);
      block[0] = modulo(first - product(block, left), prime);
      return point(block.reduce((sum, coordinate) => sum * prime + coordinate, 0));
    },
    likeliest(symbol) {
      const integer = number(symbol);
      const block = range(1, dimension).map((place) => digit(integer, dimension - place));
      const inside = range(0, elements - 1).filter((element) => product(block, vector(element)) % prime === 0);
      return inside.length ? inside : range(0, elements - 1);
    },
  };
};

function product(left: readonly number[], right: readonly number[]): number {
  return left.reduce((sum, coordinate, place) => sum + coordinate * right[place]!, 0);
}
