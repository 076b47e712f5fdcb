/** Devices for tests: a compiled registry, a clock, and a collector that answers as it is told. */

import type { CompiledMetric, CompiledRegistry } from "../src/compiled.js";
import * as spec from "../src/spec.js";
import { MemoryStore, Telemetry, type Options } from "../src/testing.js";
import { seeded } from "./scripted.js";
import { SAID } from "./vectors.js";

/** A Wednesday, 2026-11-18 at noon. */
export const NOW_S = 1_794_960_000 + 43_200;
export const DAY_S = 86_400;

const COIN: CompiledMetric = {
  purpose: "Is it used?",
  kind: "boolean",
  domain: {},
  window: "day",
  mechanism: "randomized-response",
  integers: { keep_numerator: String(3n << 62n) },
  edition: "e40f8e3e3027",
  terms: "used",
  nanos: "1000000000",
  attos: "0",
};

export const CLICKS: CompiledMetric = {
  purpose: "How many?",
  kind: "count",
  domain: { max: 10, statistic: "mean" },
  window: "day",
  mechanism: "one-bit",
  integers: { keep_numerator: String(3n << 62n) },
  edition: "0123456789ab",
  terms: "how many",
  nanos: "1000000000",
  attos: "0",
  persist: true,
};

/** Return a registry of some questions like a boolean at ln 3, each of which costs 1. */
export function registry(names: readonly string[], budget: Partial<CompiledRegistry["budget"]> = {}, target: "web" | "node" = "node"): CompiledRegistry {
  return {
    format: 1,
    target,
    app: "acme",
    budget: { window: "day", per_window: "100000000000", lifetime: "1000000000000", delta: "0", ...budget },
    sentences: SAID.sentences,
    metrics: Object.fromEntries(names.map((name) => [name, name === "clicks" ? CLICKS : COIN])),
    mechanisms: { "randomized-response": spec.randomizedResponse, "one-bit": spec.oneBit },
    kinds: { boolean: spec.boolean, count: spec.count },
  };
}

/** Return the same registry with the purposes of each question. */
export function registryOf(purposes: Readonly<Record<string, readonly string[] | undefined>>): CompiledRegistry {
  const plain = registry(Object.keys(purposes));
  const metrics = Object.entries(plain.metrics).map(([name, metric]) => {
    const consent = purposes[name];
    return [name, consent ? { ...metric, consent } : metric] as const;
  });
  return { ...plain, metrics: Object.fromEntries(metrics) };
}

/** A collector that counts each upload once and keeps what it was sent. */
export class FakeCollector {
  readonly uploads = new Map<string, spec.Report[]>();
  readonly bodies: string[] = [];
  /** What becomes of the next requests: answered, lost on the way there or back, or another reply. */
  readonly script: ("lost" | "answer lost" | Response)[] = [];
  /** The header that lists stopped questions. */
  stopped: string | undefined;
  refuses: (report: spec.Report) => string | undefined = () => undefined;

  readonly fetch = async (_: unknown, request?: RequestInit): Promise<Response> => {
    this.bodies.push(request!.body as string);
    const step = this.script.shift();
    if (step === "lost") throw new TypeError("no network");
    if (step instanceof Response) return step;
    const { upload, reports } = JSON.parse(request!.body as string) as spec.Upload;
    if (!this.uploads.has(upload)) this.uploads.set(upload, [...reports]);
    if (step === "answer lost") throw new TypeError("no network");
    const refused = reports.flatMap((report, index) => {
      const code = this.refuses(report);
      return code === undefined ? [] : [{ index, code }];
    });
    const headers = this.stopped === undefined ? {} : { "Hearsay-Stopped": this.stopped };
    return new Response(JSON.stringify({ accepted: reports.length - refused.length, refused }), { headers });
  };

  get reports(): spec.Report[] {
    return [...this.uploads.values()].flat();
  }
}

/** A device whose clock stands at `nowS`. */
export class Device {
  nowS = NOW_S;
  readonly collector = new FakeCollector();
  readonly store = new MemoryStore();
  readonly telemetry: Telemetry;

  constructor(
    readonly registry: CompiledRegistry,
    options: Partial<Options> = {},
  ) {
    this.telemetry = this.open(options);
  }

  /** Return what another tab or process of the same device has. */
  open(options: Partial<Options> = {}): Telemetry {
    return new Telemetry(this.registry, {
      collector: "https://collector.example.com",
      store: this.store,
      consent: true,
      sends: false,
      clock: () => this.nowS,
      coins: seeded(7n),
      fetch: this.collector.fetch,
      ...options,
    });
  }
}
