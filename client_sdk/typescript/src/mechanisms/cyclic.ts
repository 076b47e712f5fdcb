/**
 * Cyclic block designs (Park, Nam & Lee 2023, section IV): a report names a block of values. A block is a base block
 * plus a shift, modulo the number of values.
 */

import { big, modulo, rising, small, type Channel, type Mechanism } from "../channel.js";
import { pick, type Coins } from "../coins.js";
import { byWords } from "./words.js";

const WORDS_OF = "hearsay cyclic design 1";

export const cyclicDesign: Mechanism = (integers) =>
  cyclic(
    small(integers, "inputs"),
    small(integers, "block_size"),
    small(integers, "base_blocks"),
    big(integers, "keep_numerator"),
  );

/** Return the channel of all shifts of the base blocks. It always draws both a member and a non-member of a block. */
export function cyclic(inputs: number, blockSize: number, baseBlocks: number, keep: bigint): Channel {
  const orders = new Map<number, number[]>();

  /** Return all values: first the members of a base block, then the others, both in ascending order. */
  function order(index: number): number[] {
    const known = orders.get(index);
    if (known) return known;
    const members =
      blockSize === 2
        ? [0, index + 1]
        : byWords(WORDS_OF, [inputs, blockSize, index], inputs)
            .slice(0, blockSize)
            .sort((left, right) => left - right);
    const held = new Set(members);
    const values = [...members];
    for (let value = 0; value < inputs; value++) if (!held.has(value)) values.push(value);
    orders.set(index, values);
    return values;
  }

  return {
    inputs,
    symbols: baseBlocks * inputs,
    perturb(value: number, coins: Coins): number {
      const index = pick(coins, baseBlocks);
      const kept = coins.bernoulli(keep);
      const member = pick(coins, blockSize);
      const lie = pick(coins, inputs - blockSize);
      const element = order(index)[kept ? member : blockSize + lie]!;
      return index * inputs + modulo(value - element, inputs);
    },
    likeliest(symbol) {
      const members = order(Math.floor(symbol / inputs)).slice(0, blockSize);
      return rising(members.map((element) => (element + symbol) % inputs));
    },
  };
}
