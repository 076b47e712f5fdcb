/**
 * The editions that the app's registries have defined, and whether a collector has stopped each of them. A device does
 * not answer a stopped metric again, unless the user opts out and in again.
 *
 * A collector can stop only editions that a registry has defined, so that its responses cannot fill the storage.
 */

import type { CompiledRegistry } from "./compiled.js";
import { drop, keep, type State } from "./state.js";
import type { Report } from "./wire.js";

/** The header that lists stopped metrics, as `metric:edition,metric:edition`. */
export const STOPPED = "Hearsay-Stopped";

/** The maximum number of entries that are read, and the maximum length of a header in characters. */
const MOST_ENTRIES = 64;
const MOST_CHARS = 2048;

/** Return the entries of the header that name a metric and its edition; ignore all others. */
export function decodeStopped(header?: string | null): string[] {
  if (!header || header.length > MOST_CHARS) return [];
  const entries = header.split(",", MOST_ENTRIES);
  return entries.flatMap((entry) => /^ *([a-z][a-z0-9_]{0,63}:[0-9a-f]{12}) *$/.exec(entry)?.[1] ?? []);
}

/** Store the editions of a registry, and stop the metrics that the registry lists as stopped. */
export function name(state: State, { metrics, stopped = [] }: CompiledRegistry<unknown, unknown>): void {
  const named = Object.entries(metrics).flatMap(([metric, { edition, strata }]) =>
    [edition, ...Object.values({ ...strata })].map((each) => `${metric}:${each}`),
  );
  for (const metric of [...named, ...stopped]) state.editions[metric] ??= false;
  stop(state, stopped);
}

/**
 * Mark editions as stopped, if a registry has defined them, and drop their waiting reports.
 *
 * An upload that also contains other reports is not changed. It may have arrived, and every attempt must send the same
 * text.
 */
export function stop(state: State, metrics: readonly string[]): void {
  for (const metric of metrics) if (metric in state.editions) state.editions[metric] = true;
  const goesOn = (report: Report) => !isStopped(state, report);
  keep(state, goesOn, "stopped");
  state.sent = state.sent.filter(({ reports }) => reports.some(goesOn) || drop(state, "stopped", reports.length));
}

/** Whether a collector has stopped an edition of a metric. */
export function isStopped(state: State, { metric, edition }: Pick<Report, "metric" | "edition">): boolean {
  return state.editions[`${metric}:${edition}`]!;
}
