/** The meaning of a report, which determines the edition. Apps need this module only in tests. */

import type { CompiledMetric } from "./compiled.js";

/**
 * Return the canonical text of a report's meaning. The edition is the beginning of its SHA-256.
 *
 * The text contains the stratum, if there is one. A trial has a different text, so that its reports are counted
 * separately.
 */
export function meaning(metric: CompiledMetric, stratum?: string, trial = false): string {
  return canonical({
    schema: 1,
    kind: metric.kind,
    domain: metric.domain,
    window: metric.window,
    mechanism: metric.mechanism,
    integers: Object.fromEntries(Object.entries(metric.integers).map(([name, value]) => [name, whole(value)])),
    ...(stratum === undefined ? {} : { stratum }),
    ...(trial ? { trial } : {}),
  });
}

function whole(value: string | readonly string[]): unknown {
  return typeof value === "string" ? BigInt(value) : value.map(BigInt);
}

/** Return JSON with members sorted by name, without white space, and with all characters beyond ASCII escaped. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
    return `{${members.map(([name, member]) => `${canonical(name)}:${canonical(member)}`).join(",")}}`;
  }
  if (typeof value === "bigint") return value.toString();
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
}

/** As in Python, DEL is not escaped. */
function escaped(unit: string): string {
  return unit === "\u007f" ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
