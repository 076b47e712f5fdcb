/** A kind defines the possible answers to a metric, and the input symbol for each answer. */

import type { Coins } from "../coins.js";
import type { DomainDefinition } from "../compiled.js";
import type { Say } from "../sentences.js";

export interface Domain {
  /** The valid answers, in words. */
  readonly expected: string;
  /** The number of possible answers; 0 for numbers, which are rounded to a grid. */
  readonly size: number;
  /** Draw the input that replaces an invalid answer. Without this method, every input is equally likely. */
  draw?(coins: Coins): number;
  /** Return the input symbol for an answer; undefined if the answer is invalid. */
  encode(answer: unknown, coins: Coins): number | undefined;
  /** Return the answer of an input symbol, in words. */
  label(input: number, say: Say): string;
}

/**
 * Creates a metric's domain, for a channel with the given number of inputs. A kind of pairs uses `kinds` to create the
 * domain of each part.
 */
export type Kind = (definition: DomainDefinition, inputs: number, kinds: Kinds, vectors?: Vectors) => Domain;

/** Vectors of the same length, with integer coordinates. */
export type Vectors = readonly (readonly number[])[];

export type Kinds = Readonly<Record<string, Kind>>;
