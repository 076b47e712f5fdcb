/**
 * The editions that the app's registries name, and which of them a collector has stopped: this device asks those no
 * more, until the user opts out.
 *
 * A collector can only stop what is named. No answer therefore takes up room, however many come.
 */

import type { CompiledRegistry } from "./compiled.js";
import { drop, keep, type State } from "./state.js";
import type { Report } from "./wire.js";

/** The header that lists them, as `metric:edition,metric:edition`. */
export const STOPPED = "Hearsay-Stopped";

/** The most entries and characters of a list that are read. */
const MOST_ENTRIES = 64;
const MOST_CHARS = 2048;

/** Return the entries of the header that name a question; a collector can only silence with it. */
export function decodeStopped(header?: string | null): string[] {
  if (!header || header.length > MOST_CHARS) return [];
  const entries = header.split(",", MOST_ENTRIES);
  return entries.flatMap((entry) => /^ *([a-z][a-z0-9_]{0,63}:[0-9a-f]{12}) *$/.exec(entry)?.[1] ?? []);
}

/** Note the editions that a registry names, and what it lists as stopped itself. */
export function name(state: State, { metrics, stopped = [] }: CompiledRegistry<unknown, unknown>): void {
  const named = Object.entries(metrics).flatMap(([metric, { edition, strata }]) =>
    [edition, ...Object.values({ ...strata })].map((each) => `${metric}:${each}`),
  );
  for (const metric of [...named, ...stopped]) state.editions[metric] ??= false;
  stop(state, stopped);
}

/**
 * Remember stopped questions, of those that are named, and drop what waits of them. An upload that holds others, too,
 * has left: it stays.
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
