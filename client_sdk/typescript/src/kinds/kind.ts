/** A kind says what may be answered, and which input symbol each answer has. */

import type { Coins } from "../coins.js";
import type { DomainDefinition } from "../compiled.js";
import type { Say } from "../sentences.js";

export interface Domain {
  /** The answers that are allowed, in words. */
  readonly expected: string;
  /** The number of answers; 0 if they are points of a grid. */
  readonly size: number;
  /** Return the input of an invalid answer; without this method any input, drawn evenly. */
  draw?(coins: Coins): number;
  /** Return the input symbol of an answer; undefined if the answer is none of the domain. */
  encode(answer: unknown, coins: Coins): number | undefined;
  /** Return the answer of an input symbol in words. */
  label(input: number, say: Say): string;
}

/** Makes the domain of a question whose channel has a number of inputs. A pair looks its parts up. */
export type Kind = (definition: DomainDefinition, inputs: number, kinds: Kinds, vectors?: Vectors) => Domain;

/** Points in steps of a grid, all of one length. */
export type Vectors = readonly (readonly number[])[];

export type Kinds = Readonly<Record<string, Kind>>;
