/** Sorts values by pseudo-random words, which determine the blocks of block designs. */

import { shake256 } from "./shake.js";

/**
 * Return the values 0..size-1, sorted by their words. For equal words, the lower value comes first.
 *
 * The words are 64-bit big-endian integers from the SHAKE-256 of `prefix`, followed by `numbers` as 8 big-endian bytes
 * each.
 */
export function byWords(prefix: string, numbers: readonly number[], size: number): number[] {
  const start = new TextEncoder().encode(prefix);
  const seed = new Uint8Array(start.length + 8 * numbers.length);
  seed.set(start);
  const view = new DataView(seed.buffer, start.length);
  numbers.forEach((number, place) => view.setBigUint64(8 * place, BigInt(number)));
  const digest = shake256(seed, 8 * size);
  const words = new DataView(digest.buffer, digest.byteOffset);
  const values = Array.from({ length: size }, (_, value) => value);
  const word = values.map((value) => words.getBigUint64(8 * value));
  return values.sort((left, right) => (word[left]! < word[right]! ? -1 : word[left]! > word[right]! ? 1 : left - right));
}
