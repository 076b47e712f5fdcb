/** Finds the vector with the minimum squared distance, in integers: the first one if several are equally near. */

import type { Kind } from "./kind.js";
import { named } from "./named.js";

const GRID = 2 ** 24;
const MOST_COORDINATE = 1e6;

export const nearest: Kind = (definition, _inputs, _kinds, vectors) => {
  const [label, points] = [named(definition), vectors!];
  return {
    expected: `a list of ${points[0]!.length} finite numbers; or a label, ${label.expected}`,
    size: points.length,
    label: label.label,
    encode(answer, coins) {
      if (typeof answer === "string") return label.encode(answer, coins);
      if (!(Array.isArray(answer) || ArrayBuffer.isView(answer))) return undefined;
      const numbers = Array.from(answer as ArrayLike<unknown>);
      if (numbers.length !== points[0]!.length || !numbers.every(isCoordinate)) return undefined;
      const given = numbers.map((coordinate) => BigInt(roundedToEven(coordinate * GRID)));
      const distances = points.map((point) =>
        point.reduce((sum, coordinate, axis) => sum + (BigInt(coordinate) - given[axis]!) ** 2n, 0n),
      );
      return distances.reduce((best, distance, symbol) => (distance < distances[best]! ? symbol : best), 0);
    },
  };
};

function isCoordinate(number: unknown): number is number {
  return typeof number === "number" && Math.abs(number) <= MOST_COORDINATE;
}

function roundedToEven(number: number): number {
  const below = Math.floor(number);
  const rest = number - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
}
