/** What the user has agreed to, what decided it, and what is left for them to decide. */

import { HearsayError } from "./errors.js";

/** Neither yes nor no: nothing is recorded, stored, sent or deleted. It is null: no condition takes it for a yes. */
export const SUPPRESSED = null;

/** True for everything, false for nothing, or the purposes whose questions may be asked; null while suppressed. */
export type Consent = boolean | readonly string[] | typeof SUPPRESSED;

/** What decides; of several that apply, the first. */
export type Rule =
  /** `DO_NOT_TRACK` is set, or the browser's Do Not Track or Global Privacy Control: suppressed. */
  | "do_not_track"
  /** A variable of a continuous integration service is set: suppressed. */
  | "ci"
  /** A file of the system turns telemetry off for the whole machine: suppressed. */
  | "machine"
  /** The app's own variable: 1 agrees to everything, anything else suppresses. */
  | "variable"
  /** The user agreed, and a ceiling or the collector's host has changed since: suppressed. */
  | "changed"
  /** The user's stored choice. */
  | "choice"
  /** Nobody has decided: off. */
  | "undecided";

/** Whether an app may report, and why. Give it to a `Telemetry` as `consent`. */
export interface Decision {
  readonly consent: Consent;
  readonly rule: Rule;
  /** The variable, setting or file that decided; for a choice, its day; empty if nothing did. */
  readonly by: string;
  /** The questions that the user has not agreed to; nothing is recorded for them. */
  readonly withheld: readonly string[];
  /** The questions that `ask` would ask about. */
  readonly undecided: readonly string[];
}

/** Return what a host says that the user has agreed to; a text is no list of its letters. */
export function consentOf(value: unknown): Consent {
  if (typeof value === "boolean" || value === SUPPRESSED) return value;
  if (!Array.isArray(value)) throw new HearsayError('consent must be true, false or a list of purposes');
  return value.length > 0 && [...value];
}

/** Whether the user has agreed to all purposes of a question. Nobody agrees by name to one that has none. */
export function covers(consent: Consent, purposes: readonly string[] | undefined): boolean {
  if (!consent || consent === true) return consent === true;
  return purposes?.every((purpose) => consent.includes(purpose)) ?? false;
}
