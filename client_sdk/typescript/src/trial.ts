/**
 * Runs a trial of an app, and prints each step of an answer on the console.
 *
 * Only modules written by `hearsay-client compile --trial` import this one. Pages for users therefore do not contain
 * it. No other part of the SDK shows true answers.
 */

import { systemCoins } from "./coins.js";
import { HearsayError } from "./errors.js";
import type { HistoryEntry } from "./history.js";
import type { Metric } from "./metric.js";
import type { Say } from "./sentences.js";
import type { Recorded } from "./telemetry.js";
import type { Report } from "./wire.js";

const HERE = /^https?:\/\/(localhost|127(\.\d+){3}|\[::1])([:/]|$)/i;

/** The methods of a `Telemetry` that a trial needs. */
interface Tried {
  readonly problem: string | undefined;
  flush(): Promise<unknown>;
  history(): Promise<readonly HistoryEntry[]>;
  sentences(language: string): Say;
}

export const trial = {
  /** Refuse a collector on another machine, because users must not run a trial. In Node, HEARSAY_TRIAL=1 allows it. */
  require(collector: string): void {
    const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
    if (HERE.test(collector) || process?.env?.["HEARSAY_TRIAL"] === "1") return;
    throw new HearsayError(
      "a module compiled with --trial needs a collector on this machine, such as http://127.0.0.1:8080, because users " +
        "must not run it: compile without --trial, or, in Node, set the environment variable HEARSAY_TRIAL to 1",
    );
  },

  /** Print why an answer was not recorded. */
  refused(name: string, recorded: Recorded): undefined {
    say(`${name}: ${recorded}`);
  },

  /** Print the outcome of an answer, and send the report at once. */
  async recorded(device: Tried, metric: Metric, answer: unknown, symbol: number, recorded: Recorded): Promise<void> {
    const { name, compiled } = metric;
    if (recorded !== "queued") {
      const hint = recorded === "already_recorded" ? ": one report per window; to start over, delete the storage" : "";
      return say(`${name}: ${recorded}${hint}${recorded === "unavailable" ? `: ${device.problem}` : ""}`);
    }
    const epsilon = Number((Number(compiled.nanos) / 1e9).toPrecision(3));
    const isValid = metric.encode(answer, systemCoins()) !== undefined;
    const shown = isValid ? String(answer) : "a random answer in place of an invalid one";
    say(`${name}: ${shown} → ${metric.reported(symbol, device.sentences("en"))} (randomized at epsilon ${epsilon})`);
    say(`${name}: charged epsilon ${epsilon}, queued for this ${compiled.window}`);
    await device.flush();
  },

  /** Print the collector's response to an upload. */
  async sent(device: Tried, reports: readonly Report[]): Promise<void> {
    const entries = await device.history();
    for (const { metric, edition, window } of reports) {
      const entry = entries.find((each) => each.metric === metric && each.edition === edition && each.window === window);
      const outcome = entry?.outcome ?? "unanswered";
      if (outcome === "unanswered") {
        say(`${metric}: sent for ${window}; no answer yet: ${device.problem}`);
        continue;
      }
      const isUnknown = outcome === "unknown_metric" || outcome === "unknown_edition";
      const hint = isUnknown ? "; start `hearsay-collector serve --trial` with this registry" : "";
      say(`${metric}: sent for ${window}; the collector's answer: ${device.sentences("en")(`outcome.${outcome}`)}${hint}`);
    }
  },
};

export type Trial = typeof trial;

function say(line: string): void {
  console.info(`hearsay trial: ${line}`);
}
