/**
 * What the vectors of the project ask of a device, by name. Each check throws at the first difference.
 *
 * Nothing here is of Node: the same checks run in browsers.
 */

import type { Mechanism } from "../src/channel.js";
import type { CompiledMetric, CompiledRegistry } from "../src/compiled.js";
import { SUPPRESSED, chosen, decide, standing, status, words, type Decision } from "../src/deciding.js";
import { MalformedError } from "../src/errors.js";
import { meaning } from "../src/meaning.js";
import { sentencesIn, written } from "../src/sentences.js";
import * as spec from "../src/spec.js";
import { decodeStopped } from "../src/stops.js";
import { digest } from "../src/testing.js";
import { DAY_S } from "../src/window.js";
import { ScriptedCoins } from "./scripted.js";

// eslint-disable-next-line @typescript-eslint/no-explicit-any
export type Json = any;

/** The files of vectors by name, and the question of each definition, or why the compiler refuses it. */
export interface Vectors {
  readonly coins: Json;
  readonly invalid: Json;
  readonly editions: Json;
  readonly windows: Json;
  readonly uploads: Json;
  readonly verdicts: Json;
  readonly stopped: Json;
  readonly consent: Json;
  readonly compiled: Readonly<Record<string, CompiledMetric | string>>;
  /** What Python says: the sentences of each language, and reports in words. */
  readonly said: {
    readonly sentences: CompiledRegistry["sentences"];
    readonly reports: readonly { definition: string; symbol: number; words: Readonly<Record<string, string>> }[];
    readonly numbers: readonly { number: [string, string]; decimals: number; words: Readonly<Record<string, string>> }[];
  };
  /** The registries of choices by definition; a choice as Python stores it, and what Python says of decisions. */
  readonly choices: {
    readonly registries: Readonly<Record<string, CompiledRegistry>>;
    readonly stored: string;
    readonly statuses: readonly { decision: Decision; words: Readonly<Record<string, readonly string[]>> }[];
    readonly asked: readonly { decision: Decision; words: Readonly<Record<string, readonly string[]>> }[];
  };
}

export const CHECKS: Readonly<Record<string, (vectors: Vectors) => void | Promise<void>>> = {
  "every channel turns the scripted coins of the vectors into their symbols"({ coins }) {
    for (const vector of coins.channels) {
      const channel = mechanism(vector.mechanism)(vector.integers);
      for (const each of vector.cases) tossed((coins) => channel.perturb(each.input, coins), each);
      const symbols = vector.cases.map((each: Json) => each.symbol as number);
      same(Math.max(...symbols) < channel.symbols, true);
    }
  },

  "every kind turns the answers of the vectors into their symbols"({ coins, compiled }) {
    for (const vector of coins.kinds) {
      const metric = metricOf(compiled, vector.definition);
      for (const each of vector.cases) if (metric) tossed((coins) => metric.perturb(each.answer, coins), each);
    }
  },

  "numbers are rounded to the grid as in the vectors, by their digits"({ coins, compiled }) {
    for (const vector of coins.answers) {
      const metric = metricOf(compiled, vector.definition)!;
      for (const each of vector.cases) tossed((coins) => metric.perturb(Number(each.answer), coins), each);
    }
  },

  "answers beyond a range are clipped, and invalid ones are drawn, as in the vectors"({ invalid, compiled }) {
    for (const vector of invalid.answers) {
      const metric = metricOf(compiled, vector.definition);
      for (const each of metric ? vector.cases : []) {
        let became = "clipped";
        tossed((coins) => metric!.perturb(given(each.answer), coins, () => (became = "invalid")), each);
        same(became, each.became);
      }
    }
    for (const vector of invalid.added) {
      const metric = metricOf(compiled, vector.definition)!;
      for (const each of vector.cases) tossed((coins) => metric.addend(given(each.answer), coins), each);
    }
  },

  async "a compiled question has the edition, mechanism, integers, symbols and charge of the vectors"({ editions, compiled }) {
    for (const vector of editions) {
      const metric = metricOf(compiled, vector.definition);
      if (!metric) continue;
      const { edition, mechanism, integers, nanos } = metric.compiled;
      const said = { edition, mechanism, integers, meaning: meaning(metric.compiled, undefined, vector.trial), symbols: metric.channel.symbols };
      for (const [part, value] of Object.entries(said)) same(value, vector[part]);
      same(nanos, vector.epsilon_nanos);
      same(await digest(vector.meaning), edition);
    }
  },

  "reports are said in the words of Python, in every language"({ compiled, said }) {
    for (const { definition, symbol, words } of said.reports) {
      const metric = metricOf(compiled, definition)!;
      for (const [language, text] of Object.entries(words)) same(metric.reported(symbol, sentencesIn(said, language)), text);
    }
  },

  "numbers are written as in Python, in every language"({ said }) {
    for (const { number, decimals, words } of said.numbers) {
      const rational = [BigInt(number[0]), BigInt(number[1])] as const;
      for (const [language, text] of Object.entries(words)) same(written(rational, decimals, sentencesIn(said, language)), text);
    }
  },

  "windows are those of the vectors"({ windows }) {
    for (const { instant_s, ...texts } of windows.of) {
      for (const kind of ["day", "week", "month"] as const) same(spec.windowOf(kind, instant_s).text, texts[kind]);
    }
    for (const { text, kind, starts_at, ends_at } of windows.parse) {
      const window = { text, firstDay: starts_at / DAY_S, endDay: ends_at / DAY_S };
      same(spec.parseWindow(text), window);
      same(spec.windowOf(kind, starts_at), window);
    }
    for (const text of windows.invalid) same(spec.parseWindow(text), undefined);
  },

  "uploads have exactly the canonical bodies of the vectors"({ uploads }) {
    const canonical = uploads.filter((vector: Json) => vector.canonical);
    for (const { body, upload } of canonical) same(spec.encodeUpload(upload), body);
    same(canonical.length > 0, true);
  },

  "verdicts are read as in the vectors"({ verdicts: { codes, valid, malformed } }) {
    same(spec.REFUSALS, Object.fromEntries(codes.map(({ code, retryable }: Json) => [code, retryable])));
    for (const { body, reports, refused } of valid) same(spec.decodeVerdict(body, reports), refused);
    for (const { body, reports, code, place } of malformed) {
      try {
        spec.decodeVerdict(body, reports);
      } catch (error) {
        same(error instanceof MalformedError && [error.code, error.place], [code, place]);
        continue;
      }
      throw new Error(`read as a verdict: ${body}`);
    }
  },

  "stopped questions are read from their header as in the vectors"({ stopped }) {
    for (const { header, stopped: read } of stopped) same(decodeStopped(header), read);
    same(decodeStopped(), []);
  },

  "the first rule that applies decides as in the vectors"({ consent }) {
    const nothing = { withheld: [], undecided: [] };
    const stored: Readonly<Record<string, Decision>> = {
      none: { consent: false, rule: "undecided", by: "", ...nothing },
      yes: { consent: true, rule: "choice", by: consent.standings.day, ...nothing },
      no: { consent: false, rule: "choice", by: consent.standings.day, ...nothing },
    };
    for (const each of consent.decisions) {
      const decision = decide(each.environment, each.files, stored[each.stored]!, each.variable ?? undefined);
      same([decision.rule, decision.by], [each.rule, each.by]);
      same(decision.consent, suppressing(each.consent));
    }
  },

  "a stored choice covers what the vectors say"({ consent: { standings }, choices: { registries } }) {
    const host = (collector: string) => new URL(collector).hostname;
    for (const each of standings.cases) {
      const choice = chosen(each.chosen, registries[standings.definition]!, host(standings.collector));
      const decision = standing(choice, registries[each.definition]!, host(each.collector));
      same([decision.rule, decision.consent], [each.rule, suppressing(each.consent)]);
      same([decision.withheld, decision.undecided].map((names) => [...names].sort()), [each.withheld, each.undecided]);
    }
  },

  "users are asked, and told what is decided, in Python's words"({ consent: { standings }, choices }) {
    const registry = choices.registries[standings.definition]!;
    for (const language of ["de", "en"]) {
      for (const said of choices.asked) same(words(registry, said.decision, "a.example", language), said.words[language]);
      for (const said of choices.statuses) same(status(registry, said.decision, language), said.words[language]);
    }
  },
};

/** Compare the symbol of scripted coins, and what they were asked for. */
function tossed(perturb: (coins: ScriptedCoins) => number, expected: Json): void {
  const coins = new ScriptedCoins(expected.coins);
  same(perturb(coins), expected.symbol);
  same(coins.asked, expected.asked);
  same(coins.isUsedUp, true);
}

/** Return an answer of the vectors: JSON, or a number that JSON does not have. */
export function given(answer: Json): unknown {
  if (Array.isArray(answer)) return answer.map(given);
  return answer?.number === undefined ? answer : Number(answer.number);
}

function same(found: unknown, expected: unknown): void {
  const [left, right] = [sorted(found), sorted(expected)];
  if (left !== right) throw new Error(`${left} where the vectors have ${right}`);
}

/** Return a consent of the vectors as the SDK has it. */
function suppressing(consent: Json): Json {
  return consent === "suppressed" ? SUPPRESSED : consent;
}

/** Return JSON with the members of each object sorted by name. */
function sorted(value: unknown): string | undefined {
  return JSON.stringify(value, (_, member: unknown) => {
    const isObject = typeof member === "object" && member !== null && !Array.isArray(member);
    return isObject ? Object.fromEntries(Object.entries(member).sort()) : member;
  });
}

/** Return the name of the function of a mechanism or kind: projectiveGeometry. */
function functionOf(name: string): string {
  return name.replace(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** Return the mechanism of a name. */
export function mechanism(name: string): Mechanism {
  return (spec as unknown as Record<string, Mechanism>)[functionOf(name)]!;
}

/** Return the question of a definition; undefined if `hearsay-client compile` refuses it. */
function metricOf(compiled: Vectors["compiled"], definition: string): spec.Metric | undefined {
  const metric = compiled[definition];
  if (metric === undefined) throw new Error("no definition of the vectors; run python -m tests.support.compiled_vectors");
  return typeof metric === "string" ? undefined : metricFor(metric);
}

/** Return the kinds of a compiled question, and of the parts of a pair, by their names. */
export function kindsOf(definition: CompiledMetric): Record<string, spec.Kind> {
  const kinds = [definition.kind, ...(definition.domain.cross ?? []).map(({ kind }) => kind)];
  const functions = spec as unknown as Record<string, spec.Kind>;
  return Object.fromEntries(kinds.map((kind) => [kind, functions[functionOf(kind)]!]));
}

/** Return a compiled question, ready to answer. */
export function metricFor(definition: CompiledMetric): spec.Metric {
  const mechanisms = { [definition.mechanism]: mechanism(definition.mechanism) };
  return new spec.Metric("m", definition, { mechanisms, kinds: kindsOf(definition) });
}
