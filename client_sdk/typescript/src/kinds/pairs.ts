/** Two answers together: each pair of answers is one input symbol. */

import type { DomainDefinition } from "../compiled.js";
import type { Domain, Kind, Kinds } from "./kind.js";

export const cross: Kind = (definition, inputs, kinds) => {
  const [first, second] = parts(definition, inputs, kinds);
  return paired(first, second, second.size);
};

/** A group, such as a platform, and a number. The number is rounded at random to one of a few points. */
export const meanByGroup: Kind = (definition, _, kinds) => {
  const [group, number] = parts(definition, definition.points!, kinds);
  return paired(group, number, definition.points!);
};

function parts(definition: DomainDefinition, inputs: number, kinds: Kinds): [Domain, Domain] {
  return definition.cross!.map((part) => kinds[part.kind]!(part, inputs, kinds)) as [Domain, Domain];
}

function paired(first: Domain, second: Domain, size: number): Domain {
  return {
    expected: `a pair: first ${first.expected}, then ${second.expected}`,
    size: first.size * size,
    encode(answer, coins) {
      if (!Array.isArray(answer) || answer.length !== 2) return undefined;
      const group = first.encode(answer[0], coins);
      const other = group === undefined ? undefined : second.encode(answer[1], coins);
      return other === undefined ? undefined : group! * size + other;
    },
    label: (input, say) => `${first.label(Math.floor(input / size), say)}, ${second.label(input % size, say)}`,
  };
}
