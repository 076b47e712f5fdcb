"use strict";
// What is embedded in the page, and its numbers for people. The scripts of this page share their names.
const page = JSON.parse(document.getElementById("data").textContent);

// Numbers that nothing else shows, such as those of axes. Figures come with their texts, rounded once.
const plain = (value, digits) => {
  const text = value.toLocaleString("en-US", { maximumFractionDigits: digits });
  return /[1-9]/.test(text) ? text.replace("-", "−") : text.replace("-", "");
};
const whole = (number) => plain(number, 0);
const words = ({ text, suffix }) => {
  const [value, low, high, likeliest] = text.split(" ");
  return {
    number: value,
    estimate: value + suffix,
    high: high + suffix,
    interval: `${low} to ${high}${suffix}`,
    likeliest: likeliest === undefined ? "–" : likeliest + suffix,
  };
};
const sentence = (label, estimate) => {
  const text = words(estimate);
  return `${label}: ${text.estimate} (${text.interval})`;
};
const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

// A figure of a window: where it is drawn, and its text; null if there is none.
const figure = (track, row, slot) => {
  const estimate = track.e[row][slot];
  if (estimate === null || estimate === undefined) return null;
  const number = (steps) => Number((steps * track.step).toPrecision(12));
  const likeliest = track.m ? track.m[row][slot] : null;
  return {
    row,
    text: track.t[row][slot],
    suffix: track.suffix,
    value: number(estimate),
    low: track.d ? number(estimate - track.d[row][slot]) : 0,
    high: number(estimate + track.u[row][slot]),
    likeliest: likeliest === null || likeliest === undefined ? null : number(estimate + likeliest),
  };
};
const figures = (group, slot) =>
  group.labels.map((label, row) => ({ label, ...figure(group, row, slot), row })).filter((estimate) => "value" in estimate);
