/**
 * The budget: pure functions that decide whether a state allows a charge.
 *
 * A charge records its day. The amount spent within a period is the sum over the period's days. Therefore a new
 * registry with another period does not renew the budget.
 */

import type { CompiledBudget, CompiledMetric, WindowKind } from "./compiled.js";
import { keyOf, type State } from "./state.js";
import { DAY_S, windowOn, type Window } from "./window.js";

/** The start of 9999. No collector accepts later times, and a ledger with such a time could not be used again. */
const ABSURD_S = 253_370_764_800;

/** How far a clock may be set back. The ledger's time pauses until the clock has caught up. */
const CLOCK_BACK_S = DAY_S;

/**
 * The number of days after which the amount spent on a day, and the record of a window's report, are no longer needed.
 */
const REMEMBERED_DAYS = 70;

export type Charge = "charged" | "already_recorded" | "out_of_budget" | "first_window";

/**
 * Return the current instant by the ledger's time; undefined for a clock that was set back too far or is impossible.
 */
export function advance(state: State, clockS: number): number | undefined {
  if (!(clockS >= Math.max(0, state.latestS - CLOCK_BACK_S) && clockS < ABSURD_S)) return undefined;
  state.latestS = Math.max(state.latestS, Math.floor(clockS));
  forgetPast(state);
  return Math.max(clockS, state.latestS);
}

/** Charge a window's report to a day, if it is the window's first report and all ceilings allow it. */
export function charge(
  state: State,
  [name, metric]: readonly [string, CompiledMetric],
  window: Window,
  day: number,
  budget: CompiledBudget,
  skipsFirst: boolean,
): Charge {
  // after a device has moved to another stratum, it still reports only once for a window
  const key = keyOf({ metric: name, edition: metric.edition, window: window.text });
  if (key in state.done) return "already_recorded";
  // after its storage was deleted, a ledger cannot know the amount spent in these windows
  const begins = Math.min(window.firstDay, windowOn(budget.window, day).firstDay);
  if (skipsFirst && begins <= state.createdDay) return "first_window";
  const [nanos, attos] = [BigInt(metric.nanos), BigInt(metric.attos)];
  const isWithin =
    spentIn(state, budget.window, day) + nanos <= BigInt(budget.per_window) &&
    // a month never costs more than the lifetime
    spentIn(state, "month", day) + nanos <= BigInt(budget.per_month ?? budget.lifetime) &&
    BigInt(state.lifeNanos) + nanos <= BigInt(budget.lifetime) &&
    BigInt(state.lifeAttos) + attos <= BigInt(budget.delta);
  if (!isWithin) return "out_of_budget";
  state.done[key] = window.endDay - 1;
  state.days[day] = String(BigInt(state.days[day] ?? 0) + nanos);
  state.lifeNanos = String(BigInt(state.lifeNanos) + nanos);
  state.lifeAttos = String(BigInt(state.lifeAttos) + attos);
  return "charged";
}

/** Return the billionths of epsilon spent in the day, week or month (`kind`) that contains a day. */
export function spentIn(state: State, kind: WindowKind, day: number): bigint {
  const { firstDay, endDay } = windowOn(kind, day);
  let sum = 0n;
  for (const spent in state.days) if (+spent >= firstDay && +spent < endDay) sum += BigInt(state.days[spent]!);
  return sum;
}

function forgetPast(state: State): void {
  const least = Math.floor(state.latestS / DAY_S) - REMEMBERED_DAYS;
  for (const day in state.days) if (+day < least) delete state.days[day];
  for (const key in state.done) if (state.done[key]! < least) delete state.done[key];
}
