/** Helpers for tests of an app: a store in memory, and a check that a compiled file was not edited. */

import type { CompiledRegistry } from "./compiled.js";
import { meaning } from "./meaning.js";
import type { State, Store } from "./state.js";

export { meaning } from "./meaning.js";
export { Telemetry, type Options } from "./telemetry.js";
export type { State, Store } from "./state.js";

/** A store in memory. */
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

/** Return the names of the metrics with editions that do not match their definitions. Somebody edited the file. */
export async function edited(registry: CompiledRegistry<unknown, unknown>): Promise<string[]> {
  const found: string[] = [];
  for (const [name, metric] of Object.entries(registry.metrics)) {
    const editions = [[undefined, metric.edition], ...Object.entries(metric.strata ?? {})] as const;
    const digests = await Promise.all(editions.map(([stratum]) => digest(meaning(metric, stratum, !!registry.trial))));
    if (editions.some(([, edition], place) => edition !== digests[place])) found.push(name);
  }
  return found;
}

/** Return the first 12 hex digits of the SHA-256 of a text. For a meaning, this is the edition. */
export async function digest(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, "0")).join("").slice(0, 12);
}
