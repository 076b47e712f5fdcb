/** One of a few named answers, or a set of some. */

import { pick } from "../coins.js";
import type { DomainDefinition } from "../compiled.js";
import type { Domain, Kind } from "./kind.js";

export const boolean: Kind = () => ({
  expected: "true or false",
  size: 2,
  encode: (answer) => (typeof answer === "boolean" ? +answer : undefined),
  label: (input, say) => say(input ? "reported.true" : "reported.false"),
});

export const category: Kind = named;

/** One step of a scale. */
export const ordinal: Kind = category;

/** One member of the set, padded with dummies, is drawn: a set costs as much as one value. */
export const set: Kind = (definition, inputs) => {
  const [members, most] = [named(definition), definition.max_items!];
  return {
    expected: `at most ${most} different ones, each ${members.expected}`,
    size: inputs,
    encode(answer, coins) {
      if (!(Array.isArray(answer) || answer instanceof Set)) return undefined;
      const [given, values] = [[...answer], new Set(answer)];
      // Texts that all count as `other` are one member: what is new in the world makes no set too large.
      const symbols = [...new Set(given.map((value) => members.encode(value, coins)))];
      if (symbols.includes(undefined) || symbols.length > most || values.size < given.length) return undefined;
      const rising = (symbols as number[]).sort((left, right) => left - right);
      return rising[pick(coins, most)] ?? inputs - 1;
    },
    label: (input, say) => (input < members.size ? members.label(input, say) : say("reported.padding")),
  };
};

/** Return the domain of listed texts, one of which may stand for all others. */
export function named(definition: DomainDefinition): Domain {
  const values = definition.values!;
  const symbols = new Map(values.map((value, symbol) => [value, symbol]));
  const other = definition.other === undefined ? undefined : symbols.get(definition.other);
  return {
    expected: other === undefined ? `one of ${preview(values)}` : "a text",
    size: values.length,
    encode: (answer) => (typeof answer === "string" ? (symbols.get(answer) ?? other) : undefined),
    label: (input) => values[input]!,
  };
}

function preview(values: readonly string[]): string {
  return JSON.stringify(values.slice(0, 6)) + (values.length > 6 ? ` … (${values.length} values)` : "");
}
