/** The questions that a collector has stopped: this device asks them no more, until the user opts out. */

import { drop, keep, type State } from "./state.js";
import type { Report } from "./wire.js";

/** The header that lists them, as `metric:edition,metric:edition`. */
export const STOPPED = "Hearsay-Stopped";

/** The most entries and characters of a list that are read. */
const MOST_ENTRIES = 64;
const MOST_CHARS = 2048;

/** More stops than an app ever has editions take no more room: none of those kept is forgotten for them. */
const MOST_KEPT = 1000;

/** Return the entries of the header that name a question; whoever answers can only silence with it. */
export function decodeStopped(header?: string | null): string[] {
  if (!header || header.length > MOST_CHARS) return [];
  const entries = header.split(",", MOST_ENTRIES);
  return entries.flatMap((entry) => /^ *([a-z][a-z0-9_]{0,63}:[0-9a-f]{12}) *$/.exec(entry)?.[1] ?? []);
}

/** Remember stopped questions, and drop what waits of them. An upload that holds others, too, has left: it stays. */
export function stop(state: State, questions: readonly string[]): void {
  for (const question of questions) {
    if (state.stops.length < MOST_KEPT && !state.stops.includes(question)) state.stops.push(question);
  }
  keep(state, (report) => !isStopped(state, report), "stopped");
  if (state.sent?.reports.every((report) => isStopped(state, report))) {
    drop(state, "stopped", state.sent.reports.length);
    delete state.sent;
  }
}

/** Whether a collector has stopped an edition of a metric. */
export function isStopped(state: State, { metric, edition }: Pick<Report, "metric" | "edition">): boolean {
  return state.stops.includes(`${metric}:${edition}`);
}
