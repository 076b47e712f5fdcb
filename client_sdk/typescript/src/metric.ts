/** One question, ready to answer: its domain, its channel and its meaning on this device. */

import type { Channel } from "./channel.js";
import type { Coins } from "./coins.js";
import type { CompiledMetric, CompiledRegistry } from "./compiled.js";
import { HearsayError, OutsideDomainError } from "./errors.js";
import type { Domain } from "./kinds/kind.js";

/** What the questions of a registry share. */
type Tables = Pick<CompiledRegistry, "mechanisms" | "kinds">;

/** A device's values of public variables, such as `{ platform: "ios" }`. They are sent in the clear. */
export type Strata = Readonly<Record<string, string>>;

export class Metric {
  readonly channel: Channel;
  /** The edition of this device's reports: that of its stratum. */
  readonly edition: string;
  private readonly domain: Domain;

  constructor(
    readonly name: string,
    readonly compiled: CompiledMetric,
    { mechanisms, kinds }: Tables,
    strata: Strata = {},
  ) {
    const [mechanism, kind] = [mechanisms[compiled.mechanism], kinds[compiled.kind]];
    if (!mechanism || !kind) throw new HearsayError(`${name} is of another version; compile the registry again`);
    this.channel = mechanism(compiled.integers);
    this.domain = kind(compiled.domain, this.channel.inputs, kinds, compiled.vectors);
    this.edition = editionIn(compiled, strata);
  }

  /** Return the symbol to report for a true answer; the error does not hold the answer. */
  perturb(answer: unknown, coins: Coins): number {
    const value = this.domain.encode(answer, coins);
    if (value === undefined) throw new OutsideDomainError(`${this.name} takes ${this.domain.expected}`);
    return this.channel.perturb(value, coins);
  }
}

/** Return the edition of the listed stratum that a device belongs to; of the others if it is in none. */
function editionIn({ edition, strata: editions = {} }: CompiledMetric, strata: Strata): string {
  const own = Object.entries(strata).map((pair) => pair.join("="));
  const listed = Object.entries(editions).find(([stratum]) => stratum.split(", ").every((part) => own.includes(part)));
  return listed?.[1] ?? edition;
}
