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

/**
 * One member of the set, padded with different dummies, is drawn: the draw hides the set, too. A channel with as many
 * inputs as values asks for one value, whatever the set has; 2 j + 1 is yes to value j.
 */
export const set: Kind = (definition, inputs) => {
  const [members, most] = [named(definition), definition.max_items!];
  const asks = inputs === members.size;
  const places = asks ? inputs : most;
  return {
    expected: `at most ${most} different ones, each ${members.expected}`,
    size: inputs,
    draw(coins) {
      const first = pick(coins, inputs);
      const place = pick(coins, places);
      return asks ? 2 * place + +((place - first + inputs) % inputs < most) : (first + place) % inputs;
    },
    encode(answer, coins) {
      if (!(Array.isArray(answer) || answer instanceof Set)) return undefined;
      const [given, values] = [[...answer], new Set(answer)];
      // Texts that all count as `other` are one member: what is new in the world makes no set too large.
      const symbols = [...new Set(given.map((value) => members.encode(value, coins)))];
      if (symbols.includes(undefined) || symbols.length > most || values.size < given.length) return undefined;
      const rising = (symbols as number[]).sort((left, right) => left - right);
      const place = pick(coins, places);
      if (asks) return 2 * place + +rising.includes(place);
      return rising[place] ?? Math.min(members.size + place, inputs - 1);
    },
    label(input, say) {
      if (!asks) return input < members.size ? members.label(input, say) : say("reported.padding");
      const answers = say(input % 2 ? "reported.true" : "reported.false");
      return say("reported.feature", { feature: members.label(input >> 1, say), answers });
    },
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
