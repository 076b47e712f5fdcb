/** What `hearsay-client compile` writes: questions and ceilings, ready to use. */

import type { Integers, Mechanism } from "./channel.js";
import type { Kinds, Vectors } from "./kinds/kind.js";
import type { Trial } from "./trial.js";

export type WindowKind = "day" | "week" | "month";

/** The part of an edition that describes what may be answered. */
export interface DomainDefinition {
  readonly values?: readonly string[];
  readonly other?: string;
  readonly low?: string;
  readonly high?: string;
  readonly statistic?: string;
  readonly max?: number;
  /** False if a number beyond an end is invalid instead of being that end. */
  readonly clip?: boolean;
  /** Of a number only the cell between two of these is reported. */
  readonly thresholds?: readonly string[];
  /** `log` if it is the logarithm of 1 + x that is rounded. */
  readonly scale?: string;
  readonly max_items?: number;
  readonly prototypes?: string;
  /** To how many points the number of a pair is rounded. */
  readonly points?: number;
  readonly cross?: readonly (DomainDefinition & { readonly kind: string })[];
}

export interface CompiledMetric {
  readonly purpose: string;
  readonly kind: string;
  readonly domain: DomainDefinition;
  /** The vectors of a `nearest`, in steps of its grid; the domain holds their digest only. */
  readonly vectors?: Vectors;
  readonly window: WindowKind;
  /** The last day on which a window of the question may begin, such as 2027-12-31. */
  readonly expires?: string;
  /** Whether a running count is kept in the storage until its window has ended. */
  readonly persist?: boolean;
  /** The purposes that the user must all have agreed to; without any, only an agreement to everything will do. */
  readonly consent?: readonly string[];
  readonly mechanism: string;
  readonly integers: Integers;
  /** The edition of its reports; of those without a listed stratum, if it has strata. */
  readonly edition: string;
  /** A digest of what a user agrees to with the question, beside what a report costs. */
  readonly terms: string;
  /** The edition of each public stratum, such as `platform=ios`. */
  readonly strata?: Readonly<Record<string, string>>;
  /** The charge of a report: billionths of epsilon, and units of 10^-18 of delta. */
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
  /** For type checkers only: the answers by question, and the questions that may be counted up. */
  readonly types?: { readonly answers: Answers; readonly counts: Counts };
  /** The form of this file; another one is refused. */
  readonly format: 1;
  readonly target: "web" | "node";
  readonly app: string;
  readonly budget: CompiledBudget;
  readonly metrics: Readonly<Record<string, CompiledMetric>>;
  /** What users read, by language and key. */
  readonly sentences: Readonly<Record<string, Readonly<Record<string, string>>>>;
  /** The public variables that a device may state, such as platform. */
  readonly variables?: readonly string[];
  /** Questions that are asked no more, such as `dark_mode:0123456789ab`. */
  readonly stopped?: readonly string[];
  /** The mechanisms and kinds that the questions use, by name. */
  readonly mechanisms: Readonly<Record<string, Mechanism>>;
  readonly kinds: Kinds;
  /** What tells a developer of each step, in a module of `compile --trial`. */
  readonly trial?: Trial;
}
