/** SDKs that are wrong, by name, played as an audit plays the right one: `node mutants.js NAME FILE`. */

import { pathToFileURL } from "node:url";
import { play } from "../src/audit.js";
import type { Channel } from "../src/channel.js";
import { COIN_SCALE, type Coins } from "../src/coins.js";
import type { CompiledRegistry } from "../src/compiled.js";
import { seeded } from "./scripted.js";

type Perturb = (right: Channel, value: number, coins: Coins) => number;

/** What each does instead. */
export const MUTANTS: Readonly<Record<string, Perturb>> = {
  right: (right, value, coins) => right.perturb(value, coins),
  "the truth": (_, value) => value,
  "the truth nine times in ten": (right, value, coins) => (coins.below(10n) ? value : right.perturb(value, coins)),
  "no lie about the first answer": (right, value, coins) => (value === 0 ? 0 : right.perturb(value, coins)),
  "the answer in an upload's id": (right, value, coins) => {
    told = BigInt(value);
    return right.perturb(value, coins);
  },
};

/** What the last one hides in the first random word of an upload. */
let told: bigint | undefined;

/** Return coins that never begin anew: an audit in a test must not depend on luck. */
function telling(coins: Coins): Coins {
  const below = (bound: bigint) => (bound === COIN_SCALE ? (told ?? coins.below(bound)) : coins.below(bound));
  return { bernoulli: (numerator) => coins.bernoulli(numerator), below };
}

/** Return the registry with every mechanism replaced. */
function mutated(registry: CompiledRegistry, perturb: Perturb): CompiledRegistry {
  const mechanisms = Object.entries(registry.mechanisms).map(([name, mechanism]) => {
    const wrong: typeof mechanism = (integers) => {
      const right = mechanism(integers);
      return { ...right, perturb: (value, coins) => perturb(right, value, coins) };
    };
    return [name, wrong] as const;
  });
  return { ...registry, mechanisms: Object.fromEntries(mechanisms) };
}

const [, program, name, file] = process.argv;
if (program === new URL(import.meta.url).pathname) {
  const registry = (await import(pathToFileURL(file!).href)).default as CompiledRegistry;
  await play(mutated(registry, MUTANTS[name!]!), { coins: telling(seeded(4n)) });
}
