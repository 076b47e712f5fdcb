/** All data that a device stores, as one document: the spent budget, waiting reports, and sent reports. */

import type { Report } from "./wire.js";

/** Data about a metric, with the metric's purposes, because a later registry may lack the metric. */
export interface Purposed {
  readonly metric: string;
  readonly consent?: readonly string[] | undefined;
}

/** A report that waits to be sent. */
export interface Waiting extends Report, Purposed {
  /** The Unix time before which the report is not sent. */
  releaseS?: number | undefined;
  /**
   * How often the report was refused temporarily. The report is then sent alone. Otherwise, the collector would
   * recognize it, and learn that reports in the same upload are from the same device.
   */
  refused?: number;
}

/** An upload that has been sent but not acknowledged. Each attempt has the same id. */
export interface Sent {
  readonly id: string;
  readonly reports: readonly Waiting[];
  failures: number;
  /** The Unix time of the next attempt at the earliest, as requested by the collector. */
  pausedS: number;
  /** The Unix time of the next attempt at the earliest, outside a flush. */
  releaseS: number;
}

/** A report that was sent, and its outcome: unanswered, accepted, rejected, or the code of a refusal. */
export interface Left extends Report, Purposed {
  outcome: string;
}

/** The running count of a window that has not ended, which is a true value. */
export interface Counted extends Purposed {
  readonly edition: string;
  readonly window: string;
  count: number;
}

export interface State {
  readonly version: 1;
  /** The day on which this ledger was created, counted from 1970-01-01. */
  readonly createdDay: number;
  /** The latest instant that the ledger has seen, in Unix seconds. The instant never goes back. */
  latestS: number;
  /** Whether the user has opted out, and has not agreed again since. */
  optedOut: boolean;
  /** The total amount spent, in billionths of epsilon and units of 10^-18 of delta. */
  lifeNanos: string;
  lifeAttos: string;
  /** The amount spent on each of the last days. */
  days: Record<number, string>;
  /** Maps the `metric edition window` of each report to the last day of the window. */
  done: Record<string, number>;
  counts: Counted[];
  queue: Waiting[];
  /** Maps each edition that a registry has defined, as `metric:edition`, to whether a collector has stopped it. */
  editions: Record<string, boolean>;
  /** Uploads without a response. The lifetime budget limits their number. */
  sent: Sent[];
  /** All reports that were sent. The lifetime budget limits their number. */
  history: Left[];
  dropped: Record<string, number>;
}

/** The place where a state is stored. */
export interface Store {
  /**
   * Read, decide and write in one step. No other tab, worker or process can act in between.
   *
   * `work` must not wait for anything. It gets the state, or undefined if there is none, and may change it. The
   * returned state is durable before the promise resolves. If `work` returns undefined as the state, nothing changes.
   */
  transact<T>(work: (state: State | undefined) => readonly [State | undefined, T]): Promise<T>;
  /** Whether a state may exist. This check creates none. */
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

/** Return the empty values that replace everything but the budget when the user opts out. */
export function nothing(): Pick<State, "counts" | "queue" | "sent" | "editions" | "history" | "dropped"> {
  return { counts: [], queue: [], sent: [], editions: {}, history: [], dropped: {} };
}

/** Return the key of the single report for a metric and window. */
export function keyOf({ metric, edition, window }: Pick<Report, "metric" | "edition" | "window">): string {
  return `${metric} ${edition} ${window}`;
}

/** Keep some of the waiting reports, and count the others as lost. */
export function keep(state: State, isKept: (report: Waiting) => boolean, reason: string): void {
  const kept = state.queue.filter(isKept);
  drop(state, reason, state.queue.length - kept.length);
  state.queue = kept;
}

/** Count reports or answers that were lost. */
export function drop(state: State, reason: string, number = 1): void {
  if (number > 0) state.dropped[reason] = (state.dropped[reason] ?? 0) + number;
}
