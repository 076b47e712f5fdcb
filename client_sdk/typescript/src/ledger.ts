/**
 * The budget: pure decisions on a state.
 *
 * A charge records its day. What was spent within a period is the sum over its days, so that another period in a new
 * registry renews no budget.
 */

import type { CompiledBudget, CompiledMetric, WindowKind } from "./compiled.js";
import { keyOf, type State } from "./state.js";
import { DAY_S, windowOn, type Window } from "./window.js";

/** The year 9999, of which no collector takes a report. After an instant as late as that, none would ever be later. */
const ABSURD_S = 253_370_764_800;

/** How far a clock may be set back without harm: meanwhile it counts as standing still. */
const CLOCK_BACK_S = DAY_S;

/** Days after which nothing asks for the sum of a day, or for the report of a window, any more. */
const REMEMBERED_DAYS = 70;

export type Charge = "charged" | "already_recorded" | "out_of_budget" | "first_window";

/** Return the present instant as the ledger counts time; undefined if the clock was set back too far, or is absurd. */
export function advance(state: State, clockS: number): number | undefined {
  if (!(clockS >= Math.max(0, state.latestS - CLOCK_BACK_S) && clockS < ABSURD_S)) return undefined;
  state.latestS = Math.max(state.latestS, Math.floor(clockS));
  forgetPast(state);
  return Math.max(clockS, state.latestS);
}

/** Charge the report of a window on a day, if it is the first and every ceiling allows it. */
export function charge(
  state: State,
  [name, metric]: readonly [string, CompiledMetric],
  window: Window,
  day: number,
  budget: CompiledBudget,
  skipsFirst: boolean,
): Charge {
  // A device that moves to another stratum reports a window once all the same.
  const key = keyOf({ metric: name, edition: metric.edition, window: window.text });
  if (key in state.done) return "already_recorded";
  // A wiped ledger cannot know what was spent in these windows.
  const begins = Math.min(window.firstDay, windowOn(budget.window, day).firstDay);
  if (skipsFirst && begins <= state.createdDay) return "first_window";
  const [nanos, attos] = [BigInt(metric.nanos), BigInt(metric.attos)];
  const isWithin =
    spentIn(state, budget.window, day) + nanos <= BigInt(budget.per_window) &&
    // a month never costs more than the life does
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

/** Return what was spent in the window of a kind that holds a day, in billionths. */
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
