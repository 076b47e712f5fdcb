/** Kinds with named values: one value, or a set of values. */

import { pick, type Coins } from "../coins.js";
import type { DomainDefinition } from "../compiled.js";
import type { Domain, Kind } from "./kind.js";

export const boolean: Kind = () => ({
  expected: "true or false",
  size: 2,
  encode: (answer) => (typeof answer === "boolean" ? +answer : undefined),
  label: (input, say) => say(input ? "reported.true" : "reported.false"),
});

export const category: Kind = named;

/** One value on a scale. */
export const ordinal: Kind = category;

/**
 * A set of values. The channel's inputs determine what a device draws:
 *
 * - One input for each element (a value or a dummy): the device pads its set with different dummies, and draws one
 *   element as the input.
 * - As many inputs as values: the device draws one of all values. The input for value j is 2 j + 1 (yes) if the set
 *   contains j, and otherwise 2 j (no).
 * - K * K inputs for K elements: the device pads its set, and draws two of its elements, a and b. The input is a * K +
 *   b.
 *
 * A report does not reveal the draw. Therefore the draw, in addition to the noise, protects the set.
 */
export const set: Kind = (definition, inputs) => {
  const [members, most] = [named(definition), definition.max_items!];
  const asks = inputs === members.size;
  const places = asks ? inputs : most;
  const [elements, isOfPairs] = inputs > members.size + most ? [Math.sqrt(inputs), true] : [inputs, false];

  /** Draw one or two places, and return the input. The function `at` returns the element at a place. */
  function drawn(at: (place: number) => number, coins: Coins): number {
    const place = pick(coins, places);
    return isOfPairs ? elements * at(place) + at((place + 1 + pick(coins, places - 1)) % places) : at(place);
  }

  return {
    expected: `at most ${most} different ones, each ${members.expected}`,
    size: inputs,
    draw(coins) {
      const first = pick(coins, elements);
      const at = (place: number) =>
        asks ? 2 * place + +((place - first + inputs) % inputs < most) : (first + place) % elements;
      return drawn(at, coins);
    },
    encode(answer, coins) {
      if (!(Array.isArray(answer) || answer instanceof Set)) return undefined;
      const [given, values] = [[...answer], new Set(answer)];
      // Several unlisted strings count as one member, `other`, so that they do not make a set too large.
      const symbols = [...new Set(given.map((value) => members.encode(value, coins)))];
      if (symbols.includes(undefined) || symbols.length > most || values.size < given.length) return undefined;
      const rising = (symbols as number[]).sort((left, right) => left - right);
      if (asks) return drawn((place) => 2 * place + +rising.includes(place), coins);
      return drawn((place) => rising[place] ?? Math.min(members.size + place, elements - 1), coins);
    },
    label(input, say) {
      if (!asks) return input < members.size ? members.label(input, say) : say("reported.padding");
      const answers = say(input % 2 ? "reported.true" : "reported.false");
      return say("reported.feature", { feature: members.label(input >> 1, say), answers });
    },
  };
};

/** Return the domain of listed texts. A listed text may replace all unlisted texts. */
export function named(definition: DomainDefinition): Domain {
  const values = definition.values!;
  const symbols = new Map(values.map((value, symbol) => [value, symbol]));
  const other = definition.other === undefined ? undefined : symbols.get(definition.other);
  return {
    expected: other === undefined ? `one of ${preview(values)}` : "a string",
    size: values.length,
    encode: (answer) => (typeof answer === "string" ? (symbols.get(answer) ?? other) : undefined),
    label: (input) => values[input]!,
  };
}

function preview(values: readonly string[]): string {
  return JSON.stringify(values.slice(0, 6)) + (values.length > 6 ? ` … (${values.length} values)` : "");
}
