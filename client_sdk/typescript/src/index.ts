/** Hearsay in browsers: in pages and workers. */

import type { CompiledRegistry } from "./compiled.js";
import { HearsayError } from "./errors.js";
import { IndexedDbStore } from "./indexeddb.js";
import { Telemetry as Base, type Flushed, type Options } from "./telemetry.js";
import type { Store } from "./state.js";

export type { CompiledRegistry } from "./compiled.js";
export type { Consent, Decision } from "./decision.js";
export { HearsayError, OutsideDomainError, UnknownMetricError } from "./errors.js";
export { historyElement, type HistoryEntry } from "./history.js";
export type { Strata } from "./metric.js";
export type { Say } from "./sentences.js";
export type { BudgetStatus, Flushed, Recorded } from "./telemetry.js";

export interface BrowserOptions extends Omit<Options, "store" | "alone" | "explain"> {
  /**
   * Whether to record in a frame within a page of another site. Browsers give such a frame a separate storage, and thus
   * a separate budget, for each site that contains it.
   */
  readonly allowPartitioned?: boolean;
}

export class Telemetry<Answers = Record<string, unknown>, Counts extends string = string> extends Base<Answers, Counts> {
  constructor(registry: CompiledRegistry<Answers, Counts>, options: BrowserOptions) {
    if (registry.target !== "web") throw new HearsayError("the registry is not for browsers; compile the registry again with --target web");
    const isShut = !options.allowPartitioned && isInForeignFrame();
    const store = isShut ? noStore : new IndexedDbStore(registry.app);
    super(registry, { ...options, store, alone: (task) => aloneInOrigin(`hearsay upload ${registry.app}`, task) });
    globalThis.document?.addEventListener("visibilitychange", () => {
      if (document.visibilityState === "hidden") void this.send(false);
    });
  }
}

/** Run a task unless another tab runs it. Without Web Locks, two tabs may send one upload, which is counted once. */
async function aloneInOrigin(name: string, task: () => Promise<Flushed>): Promise<Flushed> {
  if (!navigator.locks) return task();
  return navigator.locks.request(name, { ifAvailable: true }, (lock) => (lock ? task() : "not_due"));
}

/** Whether this page is in a frame within a page of another origin. In a worker, this is unknown. */
function isInForeignFrame(): boolean {
  if (!globalThis.window) return false;
  try {
    return window.top?.location.origin !== location.origin;
  } catch {
    return true;
  }
}

/** The store in a frame within another site's page: it stores nothing. */
const noStore: Store = {
  exists: async () => false,
  transact: () => Promise.reject(new HearsayError("foreign frame")),
};
