/** The UTC day, ISO week or month to which a report belongs. Days are counted from 1970-01-01. */

import type { WindowKind } from "./compiled.js";

export const DAY_S = 86_400;

/** How long reports are accepted after their window's end, in seconds. */
export const GRACE_S = 3 * DAY_S;

const LATEST_YEAR = 9998;

export interface Window {
  /** The window's name in reports, such as 2026-11-20 (a day), 2026-W47 (a week) or 2026-11 (a month). */
  readonly text: string;
  /** The first day of the window, and the first day after it. */
  readonly firstDay: number;
  readonly endDay: number;
}

/** Return the day, week or month (`kind`) that contains an instant, given in Unix seconds. */
export function windowOf(kind: WindowKind, instantS: number): Window {
  return windowOn(kind, Math.floor(instantS / DAY_S));
}

/** Return the day, week or month (`kind`) that contains a day. */
export function windowOn(kind: WindowKind, day: number): Window {
  if (kind === "day") return { text: dayText(day), firstDay: day, endDay: day + 1 };
  if (kind === "week") return week(7 * Math.floor((day + 3) / 7) - 3); // 1970-01-01 was a Thursday
  const [year, month] = dayText(day).split("-").map(Number) as [number, number];
  return { text: dayText(day).slice(0, 7), firstDay: dayOf(year, month, 1), endDay: dayOf(year, month + 1, 1) };
}

/** Return the window with a name; undefined if the text is not the canonical name of a window. */
export function parseWindow(text: string): Window | undefined {
  const match = /^(\d{4})-(?:W(\d{2})|(\d{2})(?:-(\d{2}))?)$/.exec(text);
  if (!match) return undefined;
  const [, year, week, month, day] = match;
  const kind = week ? "week" : day ? "day" : "month";
  const within = week ? dayOf(+year!, 1, 4) + 7 * (+week - 1) : dayOf(+year!, +month!, +(day ?? 1));
  const window = windowOn(kind, within);
  return window.text === text && window.endDay > 0 && +yearText(window.firstDay) <= LATEST_YEAR ? window : undefined;
}

/** Return a day in the format 2026-11-20. */
export function dayText(day: number): string {
  return String(new Date(day * DAY_S * 1000).toJSON()).slice(0, 10); // an invalid day has no text
}

function week(monday: number): Window {
  const thursday = monday + 3; // the week belongs to the year that contains its Thursday (ISO 8601)
  const year = yearText(thursday);
  const number = 1 + Math.floor((thursday - dayOf(+year, 1, 1)) / 7);
  return { text: `${year}-W${String(number).padStart(2, "0")}`, firstDay: monday, endDay: monday + 7 };
}

function yearText(day: number): string {
  return dayText(day).slice(0, 4);
}

/**
 * Return a day by year, month and date. Month 13 is January of the next year.
 *
 * `Date.UTC` would read the years 0 to 99 as 1900 to 1999.
 */
function dayOf(year: number, month: number, date: number): number {
  return new Date(0).setUTCFullYear(year, month - 1, date) / (DAY_S * 1000);
}
