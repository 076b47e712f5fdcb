/** What may be answered, and the input symbol of each answer, by kind. */

import { COIN_SCALE, pick, type Coins } from "./coins.js";
import type { CompiledMetric, DomainDefinition } from "./compiled.js";
import { exact, fraction, position, type Rational } from "./rational.js";

/** Return the input symbol of an answer; undefined if the answer is none of the domain. */
export type Encode = (answer: unknown, coins: Coins) => number | undefined;

interface Domain {
  /** The answers that are allowed, in words. */
  readonly expected: string;
  readonly encode: Encode;
  /** The number of answers; 0 if they are points of a grid. */
  readonly size: number;
}

/** Return the domain of a compiled question whose channel has a number of inputs. */
export function domainOf(metric: CompiledMetric, inputs: number): Domain {
  const domain = ofKind(metric.kind, metric.domain, inputs, metric.points);
  if (!metric.domain.fill_in || domain.size === 0) return domain;
  return { ...domain, encode: (answer, coins) => (answer === null ? inputs - 1 : domain.encode(answer, coins)) };
}

function ofKind(kind: string, definition: DomainDefinition, inputs: number, points?: CompiledMetric["points"]): Domain {
  switch (kind) {
    case "boolean":
      return { expected: "true or false", encode: (answer) => (typeof answer === "boolean" ? +answer : undefined), size: 2 };
    case "category":
    case "ordinal":
      return category(definition);
    case "nearest":
      return nearest(definition, points!);
    case "set":
      return set(definition, inputs);
    case "cross":
      return cross(definition, inputs);
    case "number":
      return number(definition, inputs);
    default:
      return count(definition, inputs);
  }
}

function category(definition: DomainDefinition): Domain {
  const values = definition.values!;
  const symbols = new Map(values.map((value, symbol) => [value, symbol]));
  const other = definition.other === undefined ? undefined : symbols.get(definition.other);
  return {
    expected: other === undefined ? `one of ${preview(values)}` : "a text",
    encode: (answer) => (typeof answer === "string" ? (symbols.get(answer) ?? other) : undefined),
    size: values.length,
  };
}

/** One member of the set, padded with dummies, is drawn: a set costs as much as one value. */
function set(definition: DomainDefinition, inputs: number): Domain {
  const [members, most] = [category(definition), definition.max_items!];
  return {
    expected: `at most ${most} of: ${members.expected}`,
    encode(answer, coins) {
      if (!(Array.isArray(answer) || answer instanceof Set)) return undefined;
      const symbols = [...answer].map((value) => members.encode(value, coins));
      if (symbols.length > most || new Set(symbols).size < symbols.length) return undefined;
      if (symbols.includes(undefined)) return undefined;
      const rising = (symbols as number[]).sort((left, right) => left - right);
      return rising[pick(coins, most)] ?? inputs - 1;
    },
    size: inputs,
  };
}

function cross(definition: DomainDefinition, inputs: number): Domain {
  const [first, second] = definition.cross!.map((part) => ofKind(part.kind, part, inputs)) as [Domain, Domain];
  return {
    expected: `a pair: ${first.expected}; and ${second.expected}`,
    encode(answer, coins) {
      if (!Array.isArray(answer) || answer.length !== 2) return undefined;
      const [group, outcome] = [first.encode(answer[0], coins), second.encode(answer[1], coins)];
      return group === undefined || outcome === undefined ? undefined : group * second.size + outcome;
    },
    size: first.size * second.size,
  };
}

function number(definition: DomainDefinition, inputs: number): Domain {
  const [low, high] = [fraction(definition.low!), fraction(definition.high!)];
  return {
    expected: `a finite number from ${definition.low} to ${definition.high}`,
    encode(answer, coins) {
      const given = exact(answer);
      return given && onGrid(given, low, high, inputs, coins);
    },
    size: 0,
  };
}

function count(definition: DomainDefinition, inputs: number): Domain {
  const most = definition.max ?? definition.days!;
  const [low, high] = [exact(0)!, exact(most)!];
  return {
    expected: `a whole number from 0 to ${most}`,
    encode(answer, coins) {
      const given = typeof answer === "bigint" || Number.isInteger(answer) ? exact(answer) : undefined;
      return given && onGrid(given, low, high, inputs, coins);
    },
    size: 0,
  };
}

/** Return one of the two points of an even grid that enclose a number; the nearer one is likelier. One coin. */
function onGrid(given: Rational, low: Rational, high: Rational, inputs: number, coins: Coins): number | undefined {
  const cells = BigInt(inputs - 1);
  const { numerator, denominator } = position(given, low, high, cells);
  if (numerator < 0n || numerator > cells * denominator) return undefined;
  const whole = numerator / denominator;
  const point = whole < cells ? whole : cells - 1n;
  const up = coins.bernoulli(((numerator - point * denominator) * COIN_SCALE) / denominator);
  return Number(point) + (up ? 1 : 0);
}

const GRID = 2 ** 24;
const MOST_COORDINATE = 1e6;

/** The nearest of some vectors, by squared distance in integers; of several it is the first. */
function nearest(definition: DomainDefinition, points: readonly (readonly number[])[]): Domain {
  const label = category(definition);
  return {
    expected: `a list of ${points[0]!.length} finite numbers; or a label, ${label.expected}`,
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
    size: points.length,
  };
}

function isCoordinate(number: unknown): number is number {
  return typeof number === "number" && Math.abs(number) <= MOST_COORDINATE;
}

function roundedToEven(number: number): number {
  const below = Math.floor(number);
  const rest = number - below;
  return rest > 0.5 || (rest === 0.5 && below % 2 !== 0) ? below + 1 : below;
}

function preview(values: readonly string[]): string {
  return JSON.stringify(values.slice(0, 6)) + (values.length > 6 ? ` … (${values.length} values)` : "");
}
