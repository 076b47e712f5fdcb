"use strict";
// What is embedded in the page, and its numbers for people. The scripts of this page share their names.
const page = JSON.parse(document.getElementById("data").textContent);
const RANGE = { true: { factor: 100, suffix: "\u00a0%" }, false: { factor: 1, suffix: "" } }; // shares, and other numbers

// Numbers for people, as estimator/render/html/numbers.py writes them.
const decimals = (low, high, factor) => {
  const length = (high - low) * factor;
  return length > 1e-12 * factor ? Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(length)))) : 1;
};
const plain = (value, digits) => {
  const text = value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
  return /[1-9]/.test(text) ? text.replace("-", "−") : text.replace("-", "");
};
const whole = (number) => number.toLocaleString("en-US");
const words = (estimate, percent) => {
  const { factor, suffix } = RANGE[percent];
  const digits = decimals(estimate.low, estimate.high, factor);
  const text = (value) => plain(value * factor, digits);
  return {
    estimate: text(estimate.value) + suffix,
    high: text(estimate.high) + suffix,
    interval: `${text(estimate.low)} to ${text(estimate.high)}${suffix}`,
    likeliest: estimate.likeliest === null ? "" : text(estimate.likeliest) + suffix,
  };
};
const sentence = (label, estimate, percent) => {
  const text = words(estimate, percent);
  return `${label}: ${text.estimate} (${text.interval})`;
};
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// A figure of a window; null if there is none.
const figure = (track, row, slot) => {
  const estimate = track.e[row][slot];
  if (estimate === null || estimate === undefined) return null;
  const number = (steps) => Number((steps * track.step).toPrecision(12));
  const likeliest = track.m ? track.m[row][slot] : null;
  return {
    row,
    value: number(estimate),
    low: track.d ? number(estimate - track.d[row][slot]) : 0,
    high: number(estimate + track.u[row][slot]),
    likeliest: likeliest === null || likeliest === undefined ? null : number(estimate + likeliest),
  };
};
const figures = (group, slot) =>
  group.labels.map((label, row) => ({ label, ...figure(group, row, slot), row })).filter((estimate) => "value" in estimate);
