/** For the tests of an app: a store in memory, and the check that a compiled file was not edited. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import type { CompiledRegistry } from "./compiled.js";
import { meaning } from "./meaning.js";
import type { State, Store } from "./state.js";

export { meaning } from "./meaning.js";
export { Telemetry, type Options } from "./telemetry.js";
export type { State, Store } from "./state.js";

/** A store that ends with the process. */
export class MemoryStore implements Store {
  state: State | undefined;

  async exists(): Promise<boolean> {
    return this.state !== undefined;
  }

  async transact<T>(work: (state: State | undefined) => readonly [State | undefined, T]): Promise<T> {
    const [state, result] = work(structuredClone(this.state));
    if (state) this.state = structuredClone(state);
    return result;
  }
}

/** Return the names of the questions whose edition is not that of their integers: somebody edited the file. */
export function edited(registry: CompiledRegistry): string[] {
  const digest = (name: string) => bytesToHex(sha256(utf8ToBytes(meaning(registry.metrics[name]!)))).slice(0, 12);
  return Object.keys(registry.metrics).filter((name) => digest(name) !== registry.metrics[name]!.edition);
}
