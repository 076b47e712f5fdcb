/**
 * A tree with the answers, in order, as leaves. A coin selects a level, and a channel perturbs the answer's node
 * on this level.
 */

import { list, range, small, type Mechanism } from "../channel.js";
import { pick } from "../coins.js";
import { cyclic } from "./cyclic.js";
import { kAry } from "./response.js";

export const hierarchical: Mechanism = (integers) => {
  const inputs = small(integers, "inputs");
  const [sizes, blocks] = [list(integers, "block_sizes").map(Number), list(integers, "base_blocks").map(Number)];
  let symbols = 0;
  const levels = list(integers, "keep_numerators").map((keep, level) => {
    const span = 2 ** (sizes.length - 1 - level);
    const nodes = Math.ceil(inputs / span);
    const channel = sizes[level] === 1 ? kAry(nodes, keep) : cyclic(nodes, sizes[level]!, blocks[level]!, keep);
    const first = symbols;
    symbols += channel.symbols;
    return { span, first, channel };
  });
  return {
    inputs,
    symbols,
    perturb(value, coins) {
      const level = levels[pick(coins, levels.length)]!;
      return level.first + level.channel.perturb(Math.floor(value / level.span), coins);
    },
    likeliest(symbol) {
      const { span, first, channel } = levels.findLast((level) => level.first <= symbol)!;
      const nodes = channel.likeliest(symbol - first);
      return nodes.flatMap((node) => range(node * span, Math.min((node + 1) * span, inputs) - 1));
    },
  };
};
