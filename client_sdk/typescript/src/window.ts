/** The UTC day, ISO week or month to which a report belongs. Days are counted from 1970-01-01. */

import type { WindowKind } from "./compiled.js";

export const DAY_S = 86_400;

/** Seconds after its end during which a window still takes reports. */
export const GRACE_S = 3 * DAY_S;

const LATEST_YEAR = 9998;

export interface Window {
  /** Its name on the wire: 2026-11-20, 2026-W47 or 2026-11. */
  readonly text: string;
  /** Its first day, and the first day after it. */
  readonly firstDay: number;
  readonly endDay: number;
}

/** Return the window of a kind that holds an instant, given in Unix seconds. */
export function windowOf(kind: WindowKind, instantS: number): Window {
  return windowOn(kind, Math.floor(instantS / DAY_S));
}

/** Return the window of a kind that holds a day. */
export function windowOn(kind: WindowKind, day: number): Window {
  if (kind === "day") return { text: dayText(day), firstDay: day, endDay: day + 1 };
  if (kind === "week") return week(day - weekday(day));
  const [year, month] = parts(day);
  return {
    text: `${padded(year, 4)}-${padded(month, 2)}`,
    firstDay: dayOf(year, month, 1),
    endDay: month === 12 ? dayOf(year + 1, 1, 1) : dayOf(year, month + 1, 1),
  };
}

/** Return the window that a text names, or undefined if it is not the canonical name of one. */
export function parseWindow(text: string): Window | undefined {
  const match = /^(\d{4})-(?:W(\d{2})|(\d{2})(?:-(\d{2}))?)$/.exec(text);
  if (!match) return undefined;
  const [, year, week, month, day] = match;
  const kind = week ? "week" : day ? "day" : "month";
  const within = week ? dayOf(+year!, 1, 4) + 7 * (+week - 1) : dayOf(+year!, +month!, +(day ?? 1));
  const window = windowOn(kind, within);
  return window.text === text && window.endDay > 0 && parts(window.firstDay)[0] <= LATEST_YEAR ? window : undefined;
}

/** Return a day as 2026-11-20. */
export function dayText(day: number): string {
  const [year, month, date] = parts(day);
  return `${padded(year, 4)}-${padded(month, 2)}-${padded(date, 2)}`;
}

function week(monday: number): Window {
  const [year] = parts(monday + 3); // of its Thursday, as in ISO 8601
  const first = dayOf(year, 1, 4);
  const number = 1 + (monday - (first - weekday(first))) / 7;
  return { text: `${padded(year, 4)}-W${padded(number, 2)}`, firstDay: monday, endDay: monday + 7 };
}

/** Return 0 for a Monday to 6 for a Sunday; 1970-01-01 was a Thursday. */
function weekday(day: number): number {
  return (((day + 3) % 7) + 7) % 7;
}

function parts(day: number): [year: number, month: number, date: number] {
  const instant = new Date(day * DAY_S * 1000);
  return [instant.getUTCFullYear(), instant.getUTCMonth() + 1, instant.getUTCDate()];
}

/** Return a day by year, month and date. `Date.UTC` would read the years 0 to 99 as 1900 to 1999. */
function dayOf(year: number, month: number, date: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, date) / (DAY_S * 1000);
}

function padded(number: number, digits: number): string {
  return String(number).padStart(digits, "0");
}
