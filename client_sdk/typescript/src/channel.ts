/** A mechanism as a finite channel: it maps one of k input symbols (answers) to a random one of m output symbols. */

import type { Coins } from "./coins.js";

/** The parameters of a channel, all integers, by name. Texts represent the integers, which may exceed 2^53. */
export type Integers = Readonly<Record<string, string | readonly string[]>>;

export interface Channel {
  /** The number of input symbols, k. */
  readonly inputs: number;
  /** The number of output symbols, m. */
  readonly symbols: number;
  /** Return the symbol to report for an input from 0 to k - 1. The choice of coins reveals nothing about the input. */
  perturb(value: number, coins: Coins): number;
  /** Return the most likely inputs for a symbol, in ascending order. */
  likeliest(symbol: number): readonly number[];
}

/** Creates the channel that these integers define. */
export type Mechanism = (integers: Integers) => Channel;

/** Return one of a channel's integers. */
export function big(integers: Integers, name: string): bigint {
  return BigInt(integers[name] as string);
}

/** Return one of a channel's integers that is far below 2^53, such as the number of inputs. */
export function small(integers: Integers, name: string): number {
  return Number(integers[name]);
}

/** Return one of a channel's lists of integers. */
export function list(integers: Integers, name: string): bigint[] {
  return (integers[name] as readonly string[]).map(BigInt);
}

/** Return the cumulative sums of weights: `[2, 3, 1]` becomes `[2, 5, 6]`. */
export function sums(weights: readonly bigint[]): bigint[] {
  let sum = 0n;
  return weights.map((weight) => (sum += weight));
}

/** Count the numbers in an ascending list that are at most a given number. */
export function upTo<T extends bigint | number>(rising: readonly T[], number: T): number {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (number < rising[middle]!) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** Return the numbers from the first to the last. */
export function range(first: number, last: number): number[] {
  return Array.from({ length: last - first + 1 }, (_, place) => first + place);
}

/** Return numbers in ascending order. */
export function rising(numbers: readonly number[]): number[] {
  return [...numbers].sort((left, right) => left - right);
}

/** Return the remainder of a division, from 0 to divisor - 1. */
export function modulo(number: number, divisor: number): number {
  return ((number % divisor) + divisor) % divisor;
}
