/** One metric on this device: its domain, its channel and its edition. */

import type { Channel } from "./channel.js";
import { pick, type Coins } from "./coins.js";
import type { CompiledMetric, CompiledRegistry } from "./compiled.js";
import { OutsideDomainError } from "./errors.js";
import type { Domain, Kinds } from "./kinds/kind.js";
import type { Say } from "./sentences.js";

/** The mechanisms and kinds of a registry's metrics, by name. */
type Tables = Pick<CompiledRegistry, "mechanisms" | "kinds">;

/** A device's values of public variables, such as `{ platform: "ios" }`, which are sent unperturbed. */
export type Strata = Readonly<Record<string, string>>;

export class Metric {
  readonly channel: Channel;
  /** The edition of this device's reports, for the device's stratum. */
  readonly edition: string;
  private readonly domain: Domain;
  private readonly kinds: Kinds;

  constructor(
    readonly name: string,
    readonly compiled: CompiledMetric,
    { mechanisms, kinds }: Tables,
    strata: Strata = {},
  ) {
    this.kinds = kinds;
    this.channel = mechanisms[compiled.mechanism]!(compiled.integers);
    this.domain = kinds[compiled.kind]!(compiled.domain, this.channel.inputs, kinds, compiled.vectors);
    this.edition = editionIn(compiled, strata);
  }

  /** The error that tells a developer about an answer outside the domain, but omits the answer. */
  get mistake(): OutsideDomainError {
    return new OutsideDomainError(`${this.name} expects ${this.domain.expected}`);
  }

  /** Return the input symbol of a true answer; undefined if the answer is invalid, or is an object that throws. */
  encode(answer: unknown, coins: Coins, domain = this.domain): number | undefined {
    try {
      return domain.encode(answer, coins);
    } catch {
      return undefined;
    }
  }

  /** Return the symbol to report for a true answer. For an invalid answer, draw the input uniformly and call `note`. */
  perturb(answer: unknown, coins: Coins, note?: () => void): number {
    const { domain, channel } = this;
    const drawn = () => domain.draw?.(coins) ?? pick(coins, channel.inputs);
    return channel.perturb(valid(this.encode(answer, coins), drawn, note), coins);
  }

  /**
   * Return the number to add to a count, from 0 to its max. If `by` is invalid, draw a uniform number and call `note`.
   */
  addend(by: unknown, coins: Coins, note?: () => void): number {
    const { kind, domain } = this.compiled;
    const inputs = domain.max! + 1; // one point for each number, so that rounding changes nothing
    const surely = { bernoulli: (numerator) => numerator > 0n } as Coins;
    const addend = this.encode(by, surely, this.kinds[kind]!(domain, inputs, this.kinds));
    return valid(addend, () => pick(coins, inputs), note);
  }

  /** Describe a reported symbol by its most likely answers, in words. */
  reported(symbol: number, say: Say): string {
    const inputs = this.channel.likeliest(symbol);
    const label = (input: number) => this.domain.label(input, say);
    if (!this.domain.size) {
      const [low, high] = [label(inputs[0]!), label(inputs.at(-1)!)];
      return low === high ? low : say("reported.range", { low, high });
    }
    const named = inputs.slice(0, SHOWN + 1).map(label);
    const last = named.pop()!;
    const first = named.join(", ");
    if (named.length === SHOWN) return say("reported.or_others", { first });
    return first ? say("reported.or", { first, last }) : last;
  }

  /** Whether this definition has this edition, in any stratum. */
  means(edition: string): boolean {
    return [this.compiled.edition, ...Object.values(this.compiled.strata ?? {})].includes(edition);
  }
}

function valid(input: number | undefined, drawn: () => number, note?: () => void): number {
  if (input !== undefined) return input;
  note?.();
  return drawn();
}

/** The maximum number of answers in a description of a report. */
const SHOWN = 3;

/** Return the edition for a device's listed stratum or, without a listed stratum, the edition of all other devices. */
function editionIn({ edition, strata: editions = {} }: CompiledMetric, strata: Strata): string {
  const own = Object.entries(strata).map((pair) => pair.join("="));
  const listed = Object.entries(editions).find(([stratum]) => stratum.split(", ").every((part) => own.includes(part)));
  return listed?.[1] ?? edition;
}
