/** The types of the module that `hearsay-client compile` writes: metrics, ceilings and sentences. */

import type { Integers, Mechanism } from "./channel.js";
import type { Kinds, Vectors } from "./kinds/kind.js";
import type { Trial } from "./trial.js";

export type WindowKind = "day" | "week" | "month";

/** The possible answers to a metric, as part of its edition. */
export interface DomainDefinition {
  readonly values?: readonly string[];
  readonly other?: string;
  readonly low?: string;
  readonly high?: string;
  readonly statistic?: string;
  readonly max?: number;
  /** Whether a number outside the range counts as the nearer end of the range. If false, such a number is invalid. */
  readonly clip?: boolean;
  /** Thresholds in ascending order. If set, a report is about the interval that contains the number. */
  readonly thresholds?: readonly string[];
  /** `log` if the number is rounded on the scale of log(1 + x). */
  readonly scale?: string;
  readonly max_items?: number;
  readonly prototypes?: string;
  /** For a pair of a group and a number: the number of grid points for rounding the number. */
  readonly points?: number;
  readonly cross?: readonly (DomainDefinition & { readonly kind: string })[];
}

export interface CompiledMetric {
  readonly purpose: string;
  readonly kind: string;
  readonly domain: DomainDefinition;
  /**
   * For a metric of kind `nearest`: its vectors, as integers in units of 2^-24. The domain contains only their digest.
   */
  readonly vectors?: Vectors;
  readonly window: WindowKind;
  /** The last day on which a window of the metric may begin, such as 2027-12-31. */
  readonly expires?: string;
  /** Whether a running count is stored on disk until its window has ended. */
  readonly persist?: boolean;
  /** The purposes of the metric. The user must agree to all purposes or, without purposes, to everything. */
  readonly consent?: readonly string[];
  readonly mechanism: string;
  readonly integers: Integers;
  /** The edition of the metric's reports. With strata, this edition is for devices without a listed stratum. */
  readonly edition: string;
  /** A digest of the terms of an agreement to the metric, except the cost of a report. */
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
  /** For type checkers only: the type of each metric's answers, and the names of persistent counts. */
  readonly types?: { readonly answers: Answers; readonly counts: Counts };
  /** The version of the module's format. Another version is refused. */
  readonly format: 1;
  readonly target: "web" | "node";
  readonly app: string;
  readonly budget: CompiledBudget;
  readonly metrics: Readonly<Record<string, CompiledMetric>>;
  /** The sentences for users, by language and key. */
  readonly sentences: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The public variables of devices, such as platform. */
  readonly variables?: readonly string[];
  /** Stopped metrics, such as `dark_mode:0123456789ab`. */
  readonly stopped?: readonly string[];
  /** The mechanisms and kinds of the metrics, by name. */
  readonly mechanisms: Readonly<Record<string, Mechanism>>;
  readonly kinds: Kinds;
  /** Prints each step for a developer, in a module of `compile --trial`. */
  readonly trial?: Trial;
}
