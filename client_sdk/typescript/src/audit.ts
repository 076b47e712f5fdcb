/**
 * Simulates devices for `hearsay-estimator audit --sdk "npx hearsay-audit hearsay.js"`. It reads lines of JSON from
 * standard input, and writes one line of JSON in response to each.
 *
 * A simulated device runs the same code as an app, except that:
 *
 * - its ledger is in memory
 * - its uploads are returned to the audit, and count as accepted
 * - its budget and its metrics never end, so that it never stops reporting
 */

import { createInterface } from "node:readline";
import type { CompiledRegistry } from "./compiled.js";
import { MemoryStore, Telemetry, type Options } from "./testing.js";

/** A ceiling that no device reaches. */
const NO_CEILING = String(2n ** 62n);

interface Line {
  readonly do: string;
  readonly metric?: string;
  readonly answer?: unknown;
  readonly at?: number;
}

/** Return a registry with the same metrics, in which neither the budget nor a metric ever ends. */
function withoutCeilings(registry: CompiledRegistry): CompiledRegistry {
  const { window } = registry.budget;
  const metrics = Object.entries(registry.metrics).map(([name, { expires, ...metric }]) => [name, metric] as const);
  return {
    ...registry,
    target: "node", // a target for browsers would skip the first window
    budget: { window, per_window: NO_CEILING, lifetime: NO_CEILING, delta: NO_CEILING },
    metrics: Object.fromEntries(metrics),
  };
}

/** Respond to the lines on standard input until it ends. Only tests pass options, to audit faulty mechanisms. */
export async function play(compiled: CompiledRegistry, options: Partial<Options> = {}): Promise<void> {
  const registry = withoutCeilings(compiled);
  let [nowS, bodies, device] = [0, [] as string[], undefined as Telemetry | undefined];
  const fetch = async (_: unknown, request?: RequestInit): Promise<Response> => {
    bodies.push(request!.body as string);
    return new Response(JSON.stringify({ accepted: JSON.parse(request!.body as string).reports.length, refused: [] }));
  };

  async function answered(line: Line): Promise<object> {
    nowS = line.at ?? nowS;
    if (line.do === "begin") {
      const own = { store: new MemoryStore(), clock: () => nowS, fetch, consent: true, sends: false, strict: true };
      device = new Telemetry(registry, { collector: "https://audit.invalid", ...own, ...options });
      return {};
    }
    if (line.do === "record") return { recorded: await device!.record(line.metric!, line.answer) };
    if (line.do !== "flush") throw new Error("do must be begin, record or flush");
    bodies = [];
    await device!.flush();
    return { sent: bodies };
  }

  for await (const text of createInterface({ input: process.stdin })) {
    const answer = await answered(JSON.parse(text) as Line).catch((error: Error) => ({ error: error.message }));
    process.stdout.write(`${JSON.stringify(answer)}\n`);
  }
}
