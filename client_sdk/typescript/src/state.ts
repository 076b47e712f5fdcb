/** All that a device keeps, as one document: what was spent, what waits, and what left. */

import type { Report } from "./wire.js";

/** Something of a question, with the purposes that the question had then: another registry may lack it. */
export interface Purposed {
  readonly metric: string;
  readonly consent?: readonly string[] | undefined;
}

/** A report that waits. */
export interface Waiting extends Report, Purposed {
  /** Unix seconds before which it does not leave. */
  releaseS?: number | undefined;
  /** How often it was refused for now. Such a report travels alone: it must not link others. */
  refused?: number;
}

/** An upload that the collector has not acknowledged. It is sent again with the same id until it is. */
export interface Sent {
  readonly id: string;
  readonly reports: readonly Waiting[];
  failures: number;
  /** Unix seconds before which it is not sent again, because the collector asked for a pause. */
  pausedS: number;
  /** Unix seconds before which it is not sent again by itself. */
  releaseS: number;
}

/** A report that left the device, and what became of it: sent, accepted, rejected or the code of a refusal. */
export interface Left extends Report, Purposed {
  outcome: string;
}

/** A running count of a window that has not ended: a true value. */
export interface Counted extends Purposed {
  readonly edition: string;
  readonly window: string;
  count: number;
}

export interface State {
  readonly version: 1;
  /** The day on which this ledger was made, counted from 1970-01-01. */
  readonly createdDay: number;
  /** The latest instant that it has seen, in Unix seconds. It never goes back. */
  latestS: number;
  /** Whether the user has opted out since an app last said that the user agrees. */
  optedOut: boolean;
  /** What was spent in all, in billionths of epsilon and 10^-18 of delta. */
  lifeNanos: string;
  lifeAttos: string;
  /** What was spent on each of the last days. */
  days: Record<number, string>;
  /** The last day of each window for which a question has its report: `metric edition window`. */
  done: Record<string, number>;
  counts: Counted[];
  queue: Waiting[];
  /** Whether a collector has stopped each edition that a registry has named, as `metric:edition`. */
  editions: Record<string, boolean>;
  /** Uploads without an answer. Like the history, they are limited by the lifetime budget. */
  sent: Sent[];
  /** Everything that has left: the budget's lifetime limits it. */
  history: Left[];
  dropped: Record<string, number>;
}

/** Where a state is kept. */
export interface Store {
  /**
   * Read, decide and write in one step: no other tab, worker or process comes between.
   *
   * `work` must not wait for anything. It gets the state, or undefined if there is none, and may change it. What it
   * returns as state is durable before the promise is kept; undefined leaves everything as it is.
   */
  transact<T>(work: (state: State | undefined) => readonly [State | undefined, T]): Promise<T>;
  /** Whether a state may be there; asking makes none. */
  exists(): Promise<boolean>;
}

/** Return the state of a new ledger. */
export function fresh(day: number): State {
  return {
    version: 1,
    createdDay: day,
    latestS: 0,
    optedOut: false,
    lifeNanos: "0",
    lifeAttos: "0",
    days: {},
    done: {},
    ...nothing(),
  };
}

/** Return what opting out leaves of everything but the budget. */
export function nothing(): Pick<State, "counts" | "queue" | "sent" | "editions" | "history" | "dropped"> {
  return { counts: [], queue: [], sent: [], editions: {}, history: [], dropped: {} };
}

/** Return the key of the one report that a question has of a window. */
export function keyOf({ metric, edition, window }: Pick<Report, "metric" | "edition" | "window">): string {
  return `${metric} ${edition} ${window}`;
}

/** Keep some of the reports that wait, and count the others as lost. */
export function keep(state: State, isKept: (report: Waiting) => boolean, reason: string): void {
  const kept = state.queue.filter(isKept);
  drop(state, reason, state.queue.length - kept.length);
  state.queue = kept;
}

/** Count reports or answers that were lost. */
export function drop(state: State, reason: string, number = 1): void {
  if (number > 0) state.dropped[reason] = (state.dropped[reason] ?? 0) + number;
}
