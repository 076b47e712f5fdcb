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
