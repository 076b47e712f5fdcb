/** The types of the module that `hearsay-client compile` writes: questions, ceilings and sentences. */

import type { Integers, Mechanism } from "./channel.js";
import type { Kinds, Vectors } from "./kinds/kind.js";
import type { Trial } from "./trial.js";

export type WindowKind = "day" | "week" | "month";

/** The possible answers to a question. They are part of what its edition identifies. */
export interface DomainDefinition {
  readonly values?: readonly string[];
  readonly other?: string;
  readonly low?: string;
  readonly high?: string;
  readonly statistic?: string;
  readonly max?: number;
  /** False if a number outside the range is invalid; otherwise, such a number counts as the nearer end of the range. */
  readonly clip?: boolean;
  /** If set, a report is about the interval between two of these thresholds in which the number lies. */
  readonly thresholds?: readonly string[];
  /** `log` if the number is rounded on the scale of log(1 + x). */
  readonly scale?: string;
  readonly max_items?: number;
  readonly prototypes?: string;
  /** For a pair of a group and a number: the number of grid points. The pair's number is rounded to one of them. */
  readonly points?: number;
  readonly cross?: readonly (DomainDefinition & { readonly kind: string })[];
}

export interface CompiledMetric {
  readonly purpose: string;
  readonly kind: string;
  readonly domain: DomainDefinition;
  /** For a question of kind `nearest`: its vectors, as integers in units of 2^-24. The domain contains only their
   * digest. */
  readonly vectors?: Vectors;
  readonly window: WindowKind;
  /** The last day on which a window of the question may begin, such as 2027-12-31. */
  readonly expires?: string;
  /** Whether a running count is stored on disk until its window has ended. */
  readonly persist?: boolean;
  /** The purposes to all of which the user must agree. Without purposes, the user must agree to everything. */
  readonly consent?: readonly string[];
  readonly mechanism: string;
  readonly integers: Integers;
  /** The edition of the question's reports; with strata, of the reports from devices without a listed stratum. */
  readonly edition: string;
  /** A digest of the terms on which a user agrees to the question, except the cost of a report. */
  readonly terms: string;
  /** The edition of each public stratum, such as `platform=ios`. */
  readonly strata?: Readonly<Record<string, string>>;
  /** The charge for a report: billionths of epsilon, and units of 10^-18 of delta. */
  readonly nanos: string;
  readonly attos: string;
}

/** Ceilings in billionths of epsilon; `delta` in units of 10^-18. */
export interface CompiledBudget {
  readonly window: WindowKind;
  readonly per_window: string;
  readonly per_month?: string;
  readonly lifetime: string;
  readonly delta: string;
}

export interface CompiledRegistry<Answers = Record<string, unknown>, Counts = string> {
  /** For type checkers only: the type of each question's answers, and the names of persistent counts. */
  readonly types?: { readonly answers: Answers; readonly counts: Counts };
  /** The version of the module's format. Another version is refused. */
  readonly format: 1;
  readonly target: "web" | "node";
  readonly app: string;
  readonly budget: CompiledBudget;
  readonly metrics: Readonly<Record<string, CompiledMetric>>;
  /** The sentences that users read, by language and key. */
  readonly sentences: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The public variables for which a device may have a value, such as platform. */
  readonly variables?: readonly string[];
  /** Questions that are no longer asked, such as `dark_mode:0123456789ab`. */
  readonly stopped?: readonly string[];
  /** The mechanisms and kinds that the questions use, by name. */
  readonly mechanisms: Readonly<Record<string, Mechanism>>;
  readonly kinds: Kinds;
  /** Prints each step for a developer, in a module of `compile --trial`. */
  readonly trial?: Trial;
}
