/** What the user has agreed to: everything, nothing, or some purposes. */

import { HearsayError } from "./errors.js";

/** True for everything, false for nothing, or the purposes whose questions may be asked. */
export type Consent = boolean | readonly string[];

/** Return what a host says that the user has agreed to; a text is no list of its letters. */
export function consentOf(value: unknown): Consent {
  if (typeof value === "boolean") return value;
  if (!Array.isArray(value)) throw new HearsayError('consent must be true, false or a list of purposes');
  return value.length > 0 && [...value];
}

/** Whether the user has agreed to all purposes of a question. Nobody agrees by name to one that has none. */
export function covers(consent: Consent, purposes: readonly string[] | undefined): boolean {
  if (typeof consent === "boolean") return consent;
  return purposes?.every((purpose) => consent.includes(purpose)) ?? false;
}
