/** Hearsay in Node, for services, commands and desktop apps. */

import type { CompiledRegistry } from "./compiled.js";
import { HearsayError } from "./errors.js";
import { FileStore } from "./file.js";
import { explainInNode } from "./node_failure.js";
import { Telemetry as Base, type Options } from "./telemetry.js";

export * as consent from "./consent_node.js";
export type { CompiledRegistry } from "./compiled.js";
export type { Consent, Decision } from "./decision.js";
export { HearsayError, OutsideDomainError, UnknownMetricError } from "./errors.js";
export type { Strata } from "./metric.js";
export type { HistoryEntry } from "./history.js";
export type { BudgetStatus, Flushed, Recorded } from "./telemetry.js";

export interface NodeOptions extends Omit<Options, "store" | "alone" | "explain"> {
  /** A permanent folder of the app. A temporary folder would renew the budget. */
  readonly dataDir: string;
}

export class Telemetry<Answers = Record<string, unknown>, Counts extends string = string> extends Base<Answers, Counts> {
  constructor(registry: CompiledRegistry<Answers, Counts>, options: NodeOptions) {
    if (registry?.target !== "node") {
      throw new HearsayError("not a registry for Node: pass the default export of a compile --target node module");
    }
    const store = new FileStore(options?.dataDir, registry.trial && "trial");
    super(registry, { ...options, explain: explainInNode, store });
  }
}
