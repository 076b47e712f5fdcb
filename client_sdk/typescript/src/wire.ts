/** The bodies that devices and collectors exchange, with strict parsers. */

import { MalformedError } from "./errors.js";

/** One perturbed answer. */
export interface Report {
  readonly metric: string;
  readonly edition: string;
  readonly window: string;
  readonly symbol: number;
}

/** Reports that are sent together. All attempts to send these reports have the same id. */
export interface Upload {
  readonly upload: string;
  readonly reports: readonly Report[];
}

/** A report that was not counted, and why. */
export interface Refused {
  readonly index: number;
  readonly code: string;
}

/** The reasons for refusing a report, and whether the same report may be sent again. */
export const REFUSALS: Readonly<Record<string, boolean>> = {
  unknown_metric: true,
  unknown_edition: true,
  former_edition: true,
  wrong_window: false,
  window_in_future: false,
  window_closed: false,
  metric_expired: false,
  symbol_out_of_range: false,
};

/** Return the body of an upload. The text is the same every time. */
export function encodeUpload({ upload, reports }: Upload): string {
  return JSON.stringify({ upload, reports: reports.map(reportOf) });
}

/** Return the fields of a report that are sent, in the order of the body. */
export function reportOf({ metric, edition, window, symbol }: Report): Report {
  return { metric, edition, window, symbol };
}

/**
 * Parse the response to an upload with this number of reports.
 *
 * A `MalformedError` means that another program may have responded. The upload is then sent again.
 */
export function decodeVerdict(body: string, reports: number): readonly Refused[] {
  const { accepted, refused: raw } = fields(parse(body), ["accepted", "refused"], "body");
  if (!Array.isArray(raw)) throw new MalformedError(INVALID, "refused");
  const refused = raw.map((each) => refusal(each, reports));
  const isRising = refused.every(({ index }, place) => !(index <= refused[place - 1]?.index!));
  const isFraction = /"accepted"\s*:\s*-?\d*[.eE]/.test(body); // 1.0 is not a count, but JavaScript reads it as 1
  if (isFraction || !isRising || accepted !== reports - refused.length) throw new MalformedError(INVALID, "body");
  return refused;
}

const INVALID = "invalid_verdict";

function refusal(raw: unknown, reports: number): Refused {
  const { index, code } = fields(raw, ["index", "code"], "refused");
  const isWithin = [...Array(reports).keys()].includes(index as number);
  if (!isWithin || !Object.keys(REFUSALS).includes(code as string)) throw new MalformedError(INVALID, "refused");
  return { index: index as number, code: code as string };
}

/** Parse JSON, and refuse repeated members. `JSON.parse` keeps only the last of them, so that fewer colons remain. */
function parse(body: string): unknown {
  try {
    const document: unknown = JSON.parse(body);
    if (body.split(":").length === JSON.stringify(document).split(":").length) return document;
  } catch {
    // as below
  }
  throw new MalformedError("invalid_json", "body");
}

function fields(raw: unknown, expected: readonly string[], place: string): Record<string, unknown> {
  if (typeof raw !== "object" || raw === null || Array.isArray(raw)) throw new MalformedError("invalid_type", place);
  const names = Object.keys(raw);
  if (names.some((name) => !expected.includes(name))) throw new MalformedError("unknown_field", place);
  if (names.length < expected.length) throw new MalformedError("missing_field", place);
  return raw as Record<string, unknown>;
}
