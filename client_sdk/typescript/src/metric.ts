/** One question, ready to answer: its domain, its channel and its meaning. */

import type { Channel, Mechanism } from "./channel.js";
import type { Coins } from "./coins.js";
import type { CompiledMetric } from "./compiled.js";
import { domainOf, type Encode } from "./domain.js";
import { HearsayError, OutsideDomainError } from "./errors.js";

export class Metric {
  readonly channel: Channel;
  private readonly domain: { readonly expected: string; readonly encode: Encode };

  constructor(
    readonly name: string,
    readonly compiled: CompiledMetric,
    mechanisms: Readonly<Record<string, Mechanism>>,
  ) {
    const mechanism = mechanisms[compiled.mechanism];
    if (!mechanism) {
      throw new HearsayError(`${name} needs the mechanism ${compiled.mechanism}; compile the registry again`);
    }
    this.channel = mechanism(compiled.integers);
    this.domain = domainOf(compiled, this.channel.inputs);
  }

  /** Return the symbol to report for a true answer; the error does not hold the answer. */
  perturb(answer: unknown, coins: Coins): number {
    const value = this.domain.encode(answer, coins);
    if (value === undefined) throw new OutsideDomainError(`${this.name} takes ${this.domain.expected}`);
    return this.channel.perturb(value, coins);
  }
}

/** Return the canonical text whose SHA-256 begins with the edition: what a report means. */
export function meaning(metric: CompiledMetric): string {
  return canonical({
    schema: 1,
    kind: metric.kind,
    domain: metric.domain,
    window: metric.window,
    mechanism: metric.mechanism,
    integers: Object.fromEntries(Object.entries(metric.integers).map(([name, value]) => [name, whole(value)])),
  });
}

function whole(value: string | readonly string[]): unknown {
  return typeof value === "string" ? BigInt(value) : value.map(BigInt);
}

/** Return JSON with members sorted by name, no white space, and everything beyond ASCII escaped. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value === "object" && value !== null) {
    const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
    return `{${members.map(([name, member]) => `${canonical(name)}:${canonical(member)}`).join(",")}}`;
  }
  if (typeof value === "bigint") return value.toString();
  return JSON.stringify(value).replace(/[\u007f-\uffff]/g, escaped);
}

/** As in Python, DEL stays as it is. */
function escaped(unit: string): string {
  return unit === "\u007f" ? unit : `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}
