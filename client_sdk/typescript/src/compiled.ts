/** The output of `hearsay-client compile`: questions and ceilings, ready to use. */

import type { Integers, Mechanism } from "./channel.js";
import type { Kinds, Vectors } from "./kinds/kind.js";
import type { Trial } from "./trial.js";

export type WindowKind = "day" | "week" | "month";

/** The part of an edition that describes the possible answers. */
export interface DomainDefinition {
  readonly values?: readonly string[];
  readonly other?: string;
  readonly low?: string;
  readonly high?: string;
  readonly statistic?: string;
  readonly max?: number;
  /** False if a number outside the range is invalid; otherwise, it counts as the nearer end of the range. */
  readonly clip?: boolean;
  /** If set, a report only reveals between which two of these thresholds the number is. */
  readonly thresholds?: readonly string[];
  /** `log` if the number is rounded on the scale of log(1 + x). */
  readonly scale?: string;
  readonly max_items?: number;
  readonly prototypes?: string;
  /** The number of points to which the number in a pair is rounded. */
  readonly points?: number;
  readonly cross?: readonly (DomainDefinition & { readonly kind: string })[];
}

export interface CompiledMetric {
  readonly purpose: string;
  readonly kind: string;
  readonly domain: DomainDefinition;
  /** The vectors of a `nearest`, in steps of its grid. The domain contains only their digest. */
  readonly vectors?: Vectors;
  readonly window: WindowKind;
  /** The last day on which a window of the question may begin, such as 2027-12-31. */
  readonly expires?: string;
  /** Whether a running count is stored until its window has ended. */
  readonly persist?: boolean;
  /** The purposes of the question. The user must agree to all of them or, if there are none, to everything. */
  readonly consent?: readonly string[];
  readonly mechanism: string;
  readonly integers: Integers;
  /** The edition of the question's reports. With strata, it is the edition of reports without a listed stratum. */
  readonly edition: string;
  /** A digest of the terms that a user agrees to with the question, without the cost of a report. */
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
  /** For type checkers only: the answers by question, and the questions that are counts. */
  readonly types?: { readonly answers: Answers; readonly counts: Counts };
  /** The format of this file. Another format is refused. */
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
