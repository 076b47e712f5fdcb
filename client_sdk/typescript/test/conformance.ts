/** This SDK as a program for `hearsay-conformance`: it draws, charges and sends as in an app, but only when it is told to. */

import { createInterface } from "node:readline";
import type { CompiledRegistry } from "../src/compiled.js";
import { meaning } from "../src/meaning.js";
import { Telemetry } from "../src/node.js";
import * as spec from "../src/spec.js";
import { digest } from "../src/testing.js";
import { DAY_S } from "../src/window.js";
import { given, kindsOf, mechanism, metricFor, type Json } from "./checks.js";
import { ScriptedCoins } from "./scripted.js";

const SUPPORTS = [
  ...["randomized-response", "one-bit", "k-ary-randomized-response", "cyclic-design", "projective-geometry"],
  ...["balanced-design", "square-wave", "optimal-mean", "laplace", "gaussian", "exponential", "hierarchical", "one-of"],
  "pair-geometry",
  ...["boolean", "category", "ordinal", "nearest", "set", "number", "count", "cross", "mean-by-group", "purposes"],
];

const KINDS = ["day", "week", "month"] as const;

let [nowS, device] = [0, undefined as Telemetry | undefined];

function tossed(script: Json, perturb: (coins: ScriptedCoins) => number): Json {
  const coins = new ScriptedCoins(script);
  const symbol = perturb(coins);
  if (!coins.isUsedUp) throw new Error("coins are left over");
  return { symbol, asked: coins.asked };
}

/** Return a compiled registry with the functions that a module would import. */
function linked(compiled: Json): CompiledRegistry {
  const metrics = Object.values(compiled.metrics as CompiledRegistry["metrics"]);
  const mechanisms = Object.fromEntries(metrics.map((metric) => [metric.mechanism, mechanism(metric.mechanism)]));
  return { ...compiled, mechanisms, kinds: Object.assign({}, ...metrics.map(kindsOf)) };
}

const DO: Record<string, (line: Json) => Json> = {
  hello: () => ({ implementation: "the Hearsay SDK for Node", supports: SUPPORTS }),
  perturb: (line) => tossed(line.coins, (coins) => mechanism(line.mechanism)(line.integers).perturb(line.input, coins)),
  answer({ compiled, answer, coins: script }) {
    if (!compiled) return { unsupported: "a question that is not compiled" };
    let invalid = false;
    const said = tossed(script, (coins) => metricFor(compiled).perturb(given(answer), coins, () => (invalid = true)));
    return { ...said, invalid };
  },
  async edition({ compiled, trial }) {
    if (!compiled) return { unsupported: "a question that is not compiled" };
    const text = meaning(compiled, undefined, trial);
    return { meaning: text, edition: await digest(text) };
  },
  window({ at, text }) {
    if (at !== undefined) return Object.fromEntries(KINDS.map((kind) => [kind, spec.windowOf(kind, at).text]));
    const window = spec.parseWindow(text);
    if (!window) return { invalid: true };
    const starts_at = window.firstDay * DAY_S;
    const kind = KINDS.find((each) => spec.windowOf(each, starts_at).text === text);
    return { kind, starts_at, ends_at: window.endDay * DAY_S };
  },
  begin({ data, compiled, collector, consent }) {
    if (!compiled) return { unsupported: "a registry that is not compiled" };
    device = new Telemetry(linked(compiled), { collector, dataDir: data, consent, sends: false, clock: () => nowS });
    return {};
  },
  consent: ({ consent }) => ((device!.consent = consent), {}),
  record: async ({ metric, answer }) => ({ recorded: await device!.record(metric, given(answer)) }),
  flush: async () => ({ flushed: await device!.flush() }),
  forget: async () => (await device!.forget(), {}),
};

console.warn = () => undefined; // histories make the mistakes of apps
for await (const text of createInterface({ input: process.stdin })) {
  const line = JSON.parse(text);
  nowS = line.at ?? nowS;
  let said: Json = { unsupported: line.do };
  try {
    said = (await DO[line.do]?.(line)) ?? said;
  } catch (error) {
    said = { error: (error as Error).message };
  }
  process.stdout.write(`${JSON.stringify(said)}\n`);
}
