/** A decision on whether to report: what the user agreed to, the applied rule, and the undecided metrics. */

import { HearsayError } from "./errors.js";

/**
 * The consent while telemetry is suppressed: nothing is recorded, stored, sent or deleted. The value is null, which is
 * falsy.
 */
export const SUPPRESSED = null;

/** True for everything, false for nothing, or the purposes that the user agreed to; null while suppressed. */
export type Consent = boolean | readonly string[] | typeof SUPPRESSED;

/** The rules, in order. The first rule that applies decides. */
export type Rule =
  /** `DO_NOT_TRACK` is set, or the browser's Do Not Track or Global Privacy Control. Telemetry is suppressed. */
  | "do_not_track"
  /** A variable of a continuous integration service is set. Telemetry is suppressed. */
  | "ci"
  /** A system file turns telemetry off for the whole machine. Telemetry is suppressed. */
  | "machine"
  /** The app's own variable is set. The value 1 agrees to everything; any other value suppresses telemetry. */
  | "variable"
  /** A ceiling or the collector's host has changed since the user agreed. Telemetry is suppressed. */
  | "changed"
  /** The user's stored choice applies. */
  | "choice"
  /** The user has not decided. Nothing is reported. */
  | "undecided";

/** A decision whether an app may report. A `Telemetry` takes a decision as `consent`. */
export interface Decision {
  readonly consent: Consent;
  readonly rule: Rule;
  /** The variable, setting or file that the rule found, or the day of the user's choice; empty if undecided. */
  readonly by: string;
  /** The metrics that the user has not agreed to. Nothing is recorded for these metrics. */
  readonly withheld: readonly string[];
  /** The metrics that `ask` would ask about. */
  readonly undecided: readonly string[];
}

/** Return the user's consent from the value that the app passed. A text is not read as a list of its letters. */
export function consentOf(value: unknown): Consent {
  if (typeof value === "boolean" || value === SUPPRESSED) return value;
  if (!Array.isArray(value)) throw new HearsayError('consent must be true, false or a list of purposes');
  return value.length > 0 && [...value];
}

/** Whether the user has agreed to all purposes of a metric. A metric without a purpose needs consent to everything. */
export function covers(consent: Consent, purposes: readonly string[] | undefined): boolean {
  if (!consent || consent === true) return consent === true;
  return purposes?.every((purpose) => consent.includes(purpose)) ?? false;
}
