"use strict";
// The charts: each is an image with a caption, drawn by Observable Plot, and a table in the details has its numbers.
const FEW = page.few; // with fewer reports, no line joins a window to its neighbors

const element = (name, properties = {}, ...children) => {
  const created = Object.assign(document.createElement(name), properties);
  created.append(...children);
  return created;
};

const svg = (label, width, options) => {
  const chart = Plot.plot({ className: "chart", width, ...options });
  // To a screen reader a chart is an image, and the table has the numbers; labels of marks are for tests and inspection.
  chart.querySelectorAll("[aria-label]").forEach((mark) => {
    mark.dataset.label = mark.getAttribute("aria-label");
    mark.removeAttribute("aria-label");
  });
  chart.setAttribute("role", "img");
  chart.setAttribute("aria-label", `${label}; the numbers are in the details.`);
  return chart;
};
// The caption may hold what chooses the window or the figure.
const captioned = (caption, chart, ...keys) =>
  element("figure", {}, element("figcaption", {}, ...[caption].flat()), chart, element("p", { className: "legend" }, ...keys));

const plainly = (caption) => [caption].flat().filter((part) => typeof part === "string").join("").replace(/, $/, "");

// Texts are measured, so that none touches another or the frame.
const FONT = 13; // pixels, as in the style of charts
const SPACE = 12; // between a label and what is beside it
const pen = document.createElement("canvas").getContext("2d");
pen.font = `${FONT}px system-ui, sans-serif`;
const widthOf = (text) => pen.measureText(text).width;
const widest = (texts) => d3.max(texts, widthOf) ?? 0;
function fitted(text, room) {
  if (widthOf(text) <= room) return text;
  let most = text.length - 1;
  while (most > 1 && widthOf(cut(text, most)) > room) most--;
  return cut(text, most);
}

// Axes: as many ticks as there is room for, with the unit at the end.
const tick = (percent) => (number) => (percent ? `${plain(number * 100, 4)}%` : plain(number, 6));
const named = (text) => (text ? { label: text, labelArrow: "none" } : { label: null });
const axis = (percent, extra) => ({ ...named(""), ticks: 5, tickFormat: tick(percent), tickSize: 0, ...extra });
function across(percent, [low, high], room, extra) {
  const format = tick(percent);
  const fitting = d3.range(6, 1, -1).map((count) => d3.ticks(low, high, count))
    .find((ticks) => ticks.length > 1 && d3.sum(ticks, (number) => widthOf(format(number)) + 2 * SPACE) <= room);
  return axis(percent, { ticks: fitting ?? [low, high], domain: [low, high], ...extra });
}
// The width of the frame of a chart with these numbers beside it.
const besideOf = (percent, [low, high]) => SPACE + widest(d3.ticks(low, high, 5).map(tick(percent)));
// A label above each line, in as many rows as keep them apart.
function apart(lines, position, text) {
  const ends = [];
  return d3.sort(lines, position).map((line) => {
    const half = (widthOf(text(line)) + SPACE) / 2;
    const free = ends.findIndex((end) => end <= position(line) - half);
    const level = free < 0 ? ends.length : free;
    ends[level] = position(line) + half;
    return { ...line, level };
  });
}

// The marks of legends, drawn as the charts draw them.
const MARKS = {
  dot: { fill: "var(--accent)", d: "M11 6a4 4 0 1 1-8 0a4 4 0 1 1 8 0Z" },
  hollow: { fill: "var(--panel)", stroke: "var(--accent)", "stroke-width": 1.5, d: "M10.5 6a3.5 3.5 0 1 1-7 0a3.5 3.5 0 1 1 7 0Z" },
  interval: { stroke: "var(--accent)", "stroke-width": 2, d: "M1 6h12M1 3v6M13 3v6" },
  thick: { fill: "var(--accent)", "fill-opacity": 0.4, d: "M0 4h14v4h-14Z" },
  bar: { fill: "var(--soft)", d: "M0 1h14v10h-14Z" },
  band: { fill: "var(--accent)", "fill-opacity": 0.2, d: "M0 0h14v12h-14Z" },
  line: { stroke: "var(--accent)", "stroke-width": 2, d: "M0 6h14" },
  dashed: { stroke: "var(--text)", "stroke-dasharray": "3 3", d: "M0 6h14" },
  beyond: { fill: "var(--panel)", stroke: "var(--accent)", "stroke-width": 1.5, d: "M7 2l5 8h-10Z" },
};
function key(mark, meaning) {
  const drawing = d3.create("svg:svg").attr("class", "key").attr("viewBox", "0 0 14 12").attr("aria-hidden", "true");
  const path = drawing.append("path").attr("fill", "none");
  for (const [name, value] of Object.entries(MARKS[mark])) path.attr(name, value);
  return element("span", { className: "keyed" }, drawing.node(), ` ${meaning}`);
}
const SURE = `${page.confidence}% interval`;

// An interval: a thin line with its ends.
const TIP = { fontSize: FONT, lineHeight: 1.3 };
const whiskers = (rows, y) => [
  Plot.ruleY(rows, { y, x1: "low", x2: "high", stroke: "var(--accent)", strokeWidth: 2 }),
  Plot.tickX(rows.flatMap((row) => [{ ...row, end: row.low }, { ...row, end: row.high }]), { x: "end", y, stroke: "var(--accent)", strokeWidth: 2, inset: 6 }),
];
const pillars = (rows, x) => Plot.ruleX(rows, { x, y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 2 });
const titled = (estimate) => sentence(estimate.label, estimate);

// A line for each value: its name, its bar or dot with the interval, and its number at the right.
const ROW = 28;
function lines(caption, rows, { percent, suffix, brief = [], width, from = null, drawn, keys }) {
  const number = (row) => (brief[row.row] ? brief[row.row] + suffix : words(row).estimate);
  const texts = rows.map(number);
  const right = widest(texts) + SPACE;
  const left = Math.min(width * 0.4, widest(rows.map((row) => row.label)) + SPACE);
  const ends = [d3.min(rows, (row) => row.low), d3.max(rows, (row) => row.high)];
  const domain = from === null ? d3.nice(...ends, 5) : [Math.min(from, ends[0]), Math.max(from, ends[1])];
  const unit = percent ? "" : suffix.trim();
  return captioned(
    caption,
    svg(`${plainly(caption)}: ${rows.length} values`, width, {
      height: ROW * rows.length + (unit ? 52 : 32),
      marginLeft: left, marginRight: right, marginTop: 4, marginBottom: unit ? 44 : 26,
      x: across(percent, domain, width - left - right, { grid: true, ...named(unit) }),
      y: { type: "band", label: null, domain: rows.map((row) => row.row), tickFormat: (row) => fitted(rows.find((each) => each.row === row).label, left - SPACE), tickSize: 0, padding: 0.3 },
      marks: [
        ...drawn(rows),
        Plot.text(rows, { y: "row", text: number, frameAnchor: "right", textAnchor: "start", dx: SPACE / 2, fill: "var(--text)", className: "value" }),
        Plot.tip(rows, Plot.pointerY({ x: "value", y: "row", title: titled, ...TIP })),
      ],
    }),
    ...keys,
  );
}
const briefOf = (metric, group, slot) => (slot === metric.at ? group.brief : []); // as many digits as the headline
const barred = (rows) => [Plot.barX(rows, { x1: 0, x2: "value", y: "row", fill: "var(--soft)", ariaLabel: titled, className: "bars" }), ...whiskers(rows, "row")];
const dotted = (rows) => [
  Plot.ruleY(rows, { y: "row", x1: "low", x2: "high", stroke: "var(--accent)", strokeWidth: 4, strokeOpacity: 0.4 }),
  Plot.dot(rows, { x: "value", y: "row", r: 4, fill: "var(--accent)", ariaLabel: titled }),
];

// The shares of values: the largest, in their own order where that says something.
const MOST_BARS = 12;
function bars(metric, place, slot, width, caption) {
  const group = metric.groups[place];
  const all = figures(group, slot);
  if (!all.length) return null;
  const largest = d3.sort(all, (row) => -row.value).slice(0, MOST_BARS);
  const rows = group.ordered ? d3.sort(largest, (row) => row.row) : largest;
  const more = all.length > rows.length ? [`The ${rows.length} largest of ${all.length}.`] : [];
  return lines(caption(group.title), rows, { ...group, brief: briefOf(metric, group, slot), width, from: 0, drawn: barred, keys: [key("interval", SURE), ...more] });
}
function dots(metric, place, slot, width, caption) {
  const group = metric.groups[place];
  const rows = figures(group, slot);
  if (!rows.length) return null;
  const crosses = d3.some(rows, (row) => row.low <= 0) && d3.some(rows, (row) => row.high >= 0);
  const zero = () => (crosses && !group.percent ? [Plot.ruleX([0], { stroke: "var(--muted)" })] : []);
  return lines(caption(group.title), rows, { ...group, brief: briefOf(metric, group, slot), width, drawn: (drawn) => [...zero(), ...dotted(drawn)], keys: [key("dot", "estimate"), key("thick", SURE)] });
}

// One figure on its whole range: the share of yes, or a mean.
function gauge(caption, row, { percent, suffix, width, ends, log, drawn, keys }) {
  const unit = percent ? "" : suffix.trim();
  const margin = Math.max(...ends.map((end) => widthOf(tick(percent)(end)))) / 2 + 2;
  const scale = log
    ? axis(false, { type: "symlog", domain: ends, ticks: [0, 1, 10, 100, 1e3, 1e4, 1e5, 1e6].filter((end) => end >= ends[0] && end <= ends[1]), ...named(unit) })
    : across(percent, ends, width - 2 * margin, named(unit));
  return captioned(
    caption,
    svg(`${plainly(caption)}: ${titled(row)}`, width, {
      height: unit ? 82 : 62,
      marginLeft: margin, marginRight: margin, marginTop: 6, marginBottom: unit ? 46 : 26,
      x: scale,
      y: { type: "band", axis: null, domain: [row.row], padding: 0 },
      marks: [
        Plot.barX([row], { x1: ends[0], x2: ends[1], y: "row", fill: "var(--track)", rx: 3 }),
        ...drawn([row]),
        Plot.tip([row], Plot.pointerX({ x: "value", y: "row", title: titled, ...TIP })),
      ],
    }),
    ...keys,
  );
}
function bar(metric, place, slot, width, caption) {
  const group = metric.groups[place];
  const yes = figures(group, slot)[1];
  if (!yes) return null;
  const drawn = (row) => [Plot.barX(row, { x1: 0, x2: "value", y: "row", fill: "var(--soft)", rx: 3, ariaLabel: titled, className: "bars" }), ...whiskers(row, "row")];
  return gauge(caption("Share of yes"), yes, { ...group, width, ends: [0, 1], log: false, drawn, keys: [key("interval", SURE)] });
}
function mean(metric, place, slot, width, caption) {
  const group = metric.groups[place];
  const row = figures(group, slot)[0];
  if (!row) return null;
  const ends = group.ends ?? d3.nice(row.low, row.high, 5);
  return gauge(caption(group.title), row, { ...group, width, ends, drawn: dotted, keys: [key("dot", "estimate"), key("thick", SURE)] });
}

// Counts and days of use: a column for each number.
function columns(metric, place, slot, width, caption) {
  const group = metric.groups[place];
  const rows = figures(group, slot);
  if (!rows.length) return null;
  const top = d3.max(rows, (row) => row.high);
  const left = besideOf(group.percent, [0, top]);
  const every = Math.ceil(((widest(group.labels) + SPACE) * rows.length) / (width - left)); // so that the numbers below do not touch
  return captioned(
    caption(group.title),
    svg(`${group.title} by ${metric.unit || "number"}: ${rows.length} columns`, width, {
      height: 220,
      marginLeft: left, marginRight: 4, marginTop: 10, marginBottom: metric.unit ? 44 : 26,
      x: { type: "band", ...named(metric.unit), domain: rows.map((row) => row.row), tickFormat: (row) => (row % every ? "" : group.labels[row]), tickSize: 0, padding: 0.25 },
      y: axis(group.percent, { grid: true, domain: [0, top] }),
      marks: [
        Plot.barY(rows, { x: "row", y1: 0, y2: "value", fill: "var(--soft)", ariaLabel: titled, className: "bars" }),
        pillars(rows, "row"),
        Plot.ruleY([0], { stroke: "var(--muted)" }),
        Plot.tip(rows, Plot.pointerX({ x: "row", y: "value", title: titled, ...TIP })),
      ],
    }),
    key("interval", SURE),
  );
}

// How well yes is told from no: for each share of no that is taken for yes wrongly, the share of yes that is found.
const SQUARE = 360; // the most pixels of a side
function roc(caption, width, marks, points, ...keys) {
  const side = Math.min(width, SQUARE);
  return captioned(
    caption,
    svg(plainly(caption), side, {
      height: side, marginLeft: besideOf(true, [0, 1]), marginBottom: 44, marginRight: 20, marginTop: 30,
      x: axis(true, { grid: true, domain: [0, 1], ...named("false positives, of those who say no") }),
      y: axis(true, { grid: true, domain: [0, 1], ...named("true positives, of those who say yes") }),
      marks: [
        Plot.line([[0, 0], [1, 1]], { stroke: "var(--text)", strokeDasharray: "3 3" }),
        ...marks,
        Plot.dot(points, { x: "no", y: "yes", r: 4, fill: "var(--accent)", ariaLabel: (point) => point.title }),
        Plot.tip(points, Plot.pointer({ x: "no", y: "yes", title: "title", ...TIP })),
      ],
    }),
    ...keys, key("dashed", "chance"),
  );
}

// The share of a normal law below z (Abramowitz & Stegun 26.2.17), and the z of a share.
function normal(z) {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const series = t * (0.31938153 + t * (-0.356563782 + t * (1.781477937 + t * (-1.821255978 + t * 1.330274429))));
  const tail = Math.exp(-z * z / 2) / Math.sqrt(2 * Math.PI) * series;
  return z < 0 ? tail : 1 - tail;
}
function scoreOf(share) {
  let [low, high] = [-9, 9];
  for (let step = 0; step < 40; step++) [low, high] = normal((low + high) / 2) < share ? [(low + high) / 2, high] : [low, (low + high) / 2];
  return low;
}

// Of normal scores the AUC says the whole curve: their means are root 2 times its score apart.
function scores(metric, place, slot, width, caption) {
  const group = metric.groups[place];
  const auc = figure(group, 0, slot);
  if (!auc) return null;
  const above = (z, area) => normal(z + Math.SQRT2 * scoreOf(area));
  const curve = d3.range(-4, 4.01, 0.1).map((z) => ({ no: normal(z), yes: above(z, auc.value), low: above(z, auc.low), high: above(z, auc.high) }));
  const corners = [{ no: 0, yes: 0, low: 0, high: 0 }, ...curve, { no: 1, yes: 1, low: 1, high: 1 }];
  return roc(caption("ROC curve, if scores are normally distributed"), width, [
    Plot.areaY(corners, { x: "no", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.2, className: "band" }),
    Plot.line(corners, { x: "no", y: "yes", stroke: "var(--accent)", strokeWidth: 2, className: "curve" }),
  ], [], key("line", "curve for the estimated AUC"), key("band", "curves for the interval of the AUC"));
}

// Measured at each step: everybody from there on is taken for a yes.
function steps(metric, place, slot, width, caption) {
  const group = metric.groups[place];
  const rows = figures(group, slot);
  if (rows.length < group.labels.length) return null;
  const points = d3.range(rows.length - 2, -1, -2).map((at) => {
    const [no, yes] = [rows[at], rows[at + 1]];
    const title = `${titled(yes)}\n${titled(no)}`;
    return { no: no.value, yes: yes.value, best: [no.low, yes.high], worst: [no.high, yes.low], title };
  });
  const band = [[0, 0], ...points.map((point) => point.best), [1, 1], ...points.map((point) => point.worst).reverse()];
  return roc(caption("ROC curve, by steps"), width, [
    Plot.line(band, { fill: "var(--accent)", fillOpacity: 0.2, stroke: "none", curve: "linear-closed", className: "band" }),
    Plot.line([{ no: 0, yes: 0 }, ...points, { no: 1, yes: 1 }], { x: "no", y: "yes", stroke: "var(--accent)", strokeWidth: 2 }),
  ], points, key("dot", "threshold at this step"), key("band", "range allowed by both intervals"));
}

// The share of yes at each step, and what the step's name promises.
function calibration(metric, _, slot, width, caption) {
  const { joint } = metric;
  const known = joint.groups.map((name, i) => ({ name, i, ends: joint.steps[i], ...figure(joint, 2 * i + 1, slot) })).filter((step) => "value" in step);
  if (!known.length) return null;
  const title = (step) => sentence(`${joint.outcomes[1]} among ${step.name}`, step);
  const left = besideOf(true, [0, 1]);
  return captioned(
    caption(`“${joint.outcomes[1]}” at each step of ${joint.names[0]}`),
    svg(`${joint.outcomes[1]} at each step of ${joint.names[0]}`, width, {
      height: 240,
      marginLeft: left, marginRight: 4, marginTop: 10,
      x: { type: "band", label: null, domain: d3.range(joint.groups.length), tickFormat: (i) => fitted(joint.groups[i], (width - left) / joint.groups.length - SPACE), tickSize: 0 },
      y: axis(true, { grid: true, domain: [0, 1] }),
      marks: [
        Plot.barY(known.filter((step) => step.ends), { x: "i", y1: (step) => step.ends[0], y2: (step) => step.ends[1], fill: "var(--track)", className: "promised" }),
        Plot.ruleX(known, { x: "i", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 4, strokeOpacity: 0.4 }),
        Plot.dot(known, { x: "i", y: "value", r: 4, fill: "var(--accent)", ariaLabel: title }),
        Plot.tip(known, Plot.pointerX({ x: "i", y: "value", title, ...TIP })),
      ],
    }),
    key("dot", "estimate"), key("thick", SURE), joint.steps.length ? "Wide bars: the range in the name of the step." : "",
  );
}

// One figure over the windows: a line with its band, broken where there is no window or too little data.
function pointsOf(metric, group, row) {
  return page.calendars[metric.kind].map(([name, start], slot) => {
    const estimate = figure(group, row, slot);
    const few = estimate !== null && metric.n[slot] < FEW;
    const joined = estimate !== null && !few;
    return {
      name, slot, few, estimate, date: new Date(start), preliminary: metric.open.includes(slot),
      value: joined ? estimate.value : NaN, low: joined ? estimate.low : NaN, high: joined ? estimate.high : NaN,
    };
  });
}
// What happened on a day: a line through the chart, with its title above, in as many rows as keep titles apart.
const EVENT = 15; // pixels of a row of titles
function happened(kind, dates, room) {
  const events = page.events[kind].map(([day, title]) => ({ date: new Date(day), title, name: fitted(title, 0.6 * room) }));
  const domain = d3.extent([...dates, ...events.map((event) => event.date)]);
  const position = d3.scaleUtc(domain, [0, room]);
  const rows = [];
  for (const event of events) {
    const [at, long] = [position(event.date), widthOf(event.name) + SPACE];
    event.anchor = at > room / 2 ? "end" : "start"; // titles do not leave the chart
    const [from, to] = at > room / 2 ? [at - long, at] : [at, at + long];
    const free = rows.findIndex((taken) => taken.every(([start, end]) => end <= from || to <= start));
    event.level = free < 0 ? rows.push([]) - 1 : free;
    rows[event.level].push([from, to]);
  }
  const titles = (event) => ({ x: "date", text: "name", frameAnchor: "top", lineAnchor: "bottom", textAnchor: event.anchor, dy: -4 - EVENT * event.level, fill: "var(--text)", clip: false });
  return {
    domain,
    above: EVENT * rows.length,
    said: events.length ? ` Events: ${events.map((event) => `${event.title}, ${event.date.toISOString().slice(0, 10)}`).join("; ")}` : "",
    marks: events.flatMap((event) => [
      Plot.ruleX([event], { x: "date", stroke: "var(--muted)", strokeDasharray: "2 3", className: "event" }),
      Plot.text([event], titles(event)),
    ]),
  };
}
function overTime(metric, group, row, width, caption) {
  const points = pointsOf(metric, group, row);
  const known = points.filter((point) => point.estimate !== null);
  const lone = known.filter((point) => point.few);
  const alone = points.filter((point, slot) => !isNaN(point.value) && [slot - 1, slot + 1].every((next) => isNaN(points[next]?.value ?? NaN)));
  const framing = lone.length < known.length ? known.filter((point) => !point.few) : known; // lone ones may stick out
  const [bottom, top] = d3.scaleLinear([d3.min(framing, (point) => point.estimate.low), d3.max(framing, (point) => point.estimate.high)], [0, 1]).nice(5).domain();
  const beyond = known.filter(({ estimate }) => estimate.value < bottom || estimate.value > top);
  const inside = known.filter((point) => !beyond.includes(point));
  const edge = ({ estimate }) => (estimate.value > top ? top : bottom);
  const late = (point) => point.slot > points.length / 2;
  const beside = (points, textAnchor, dx) =>
    Plot.text(points, { x: "date", y: edge, text: ({ estimate }) => words(estimate).estimate, fill: "var(--text)", textAnchor, dx, clip: false });
  const title = (point) =>
    `${sentence(point.name, point.estimate)}\n${whole(metric.n[point.slot])} reports` +
    `${point.preliminary ? ", preliminary" : ""}${point.few ? ", too few reports to connect" : ""}`;
  const missing = points.length - known.length;
  const unit = group.percent ? "" : group.suffix.trim();
  const left = besideOf(group.percent, [bottom, top]);
  const every = Math.ceil(points.length / Math.max(2, Math.floor((width - left) / 60)));
  const events = happened(metric.kind, points.map((point) => point.date), width - left - 34);
  const isHollow = (point) => point.few || point.preliminary;
  return captioned(
    caption,
    svg(`${group.labels[row]} in ${known.length} windows${events.said}`, width, {
      height: 200 + events.above,
      marginLeft: left, marginRight: 14, marginTop: (unit ? 30 : 12) + events.above, marginBottom: 40,
      clip: true,
      x: { type: "utc", label: null, ticks: points.filter((_, slot) => slot % every === 0).map((point) => point.date), domain: events.domain, inset: 10, tickSize: 4 },
      y: axis(group.percent, { grid: true, domain: [bottom, top], ...named(unit) }),
      marks: [
        ...events.marks,
        Plot.areaY(points, { x: "date", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.2 }),
        Plot.ruleX(alone, { x: "date", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 4, strokeOpacity: 0.4, className: "alone" }), // a band has a width
        Plot.lineY(points, { x: "date", y: "value", stroke: "var(--accent)", strokeWidth: 2 }),
        Plot.ruleX(lone, { x: "date", y1: (point) => point.estimate.low, y2: (point) => point.estimate.high, stroke: "var(--muted)", strokeDasharray: "2 2" }),
        Plot.dot(inside, {
          x: "date", y: (point) => point.estimate.value, r: points.length > 40 ? 2 : 3.5, stroke: "var(--accent)",
          fill: (point) => (isHollow(point) ? "var(--panel)" : "var(--accent)"), ariaLabel: title, clip: false,
        }),
        Plot.dot(beyond, {
          x: "date", y: edge, r: 5, symbol: "triangle", rotate: (point) => (edge(point) === top ? 0 : 180), clip: false,
          stroke: "var(--accent)", fill: "var(--panel)", ariaLabel: title, className: "beyond",
        }),
        beside(beyond.filter(late), "end", -10),
        beside(beyond.filter((point) => !late(point)), "start", 10),
        Plot.tip(known, Plot.pointerX({ x: "date", y: (point) => (beyond.includes(point) ? edge(point) : point.estimate.value), title, clip: false, ...TIP })),
      ],
    }),
    key("line", "estimate"), key("band", SURE),
    ...(known.some(isHollow) ? [key("hollow", `preliminary, or fewer than ${FEW} reports`)] : []),
    ...(beyond.length ? [key("beyond", "outside the chart")] : []),
    missing ? `No reports in ${missing} of ${points.length} windows.` : "",
  );
}

const isPoints = (metric) => metric.bins.edges[0][0] === metric.bins.edges[0][1]; // counts, each with a bin

// Bins are drawn without intervals: these are wider than the whole shape. The distribution function shows how sure that is.
function histogram(metric, _, slot, width, caption) {
  const { edges } = metric.bins;
  const bins = edges.map(([from, to], row) => ({ from, to, middle: (from + to) / 2, ...figure(metric.bins, row, slot) }));
  if (!("value" in bins[0])) return null;
  const points = isPoints(metric);
  const group = metric.groups.find((candidate) => candidate.title === "Quantiles");
  const [first, last] = [edges[0][0], edges.at(-1)[1]];
  const top = d3.max(bins, (bin) => bin.value);
  const left = besideOf(true, [0, top]);
  const room = width - left - 20;
  const name = (quantile) => quantile.label.replace(" percentile", "");
  const position = (quantile) => { // that of the name, which stays within the chart
    const half = widthOf(name(quantile)) / 2;
    return Math.min(room + 18 - half, Math.max(half - left, (room * (quantile.value - first)) / (last - first)));
  };
  const quantiles = apart(group ? figures(group, slot) : [], position, name);
  const levels = 1 + d3.max(quantiles, (quantile) => quantile.level) || 0;
  const title = (bin) =>
    points ? sentence(plain(bin.from, 0), bin) : `${bin.from} to ${bin.to}: ${words(bin).estimate} (at most ${words(bin).high})`;
  const half = points ? 0.4 : 0;
  return captioned(
    caption("Distribution"),
    svg(`Histogram of ${bins.length} bins`, width, {
      height: 230,
      marginLeft: left, marginRight: 20, marginTop: 14 + 15 * levels, marginBottom: metric.unit ? 44 : 26,
      x: across(false, points ? [first - 0.5, last + 0.5] : [first, last], room, named(metric.unit)),
      y: axis(true, { grid: true, domain: [0, top] }),
      marks: [
        Plot.rect(bins, { x1: (bin) => bin.from - half, x2: (bin) => bin.to + half, y1: 0, y2: "value", fill: "var(--soft)", inset: points || room < 4 * bins.length ? 0 : 0.5, ariaLabel: title, className: "bars" }),
        Plot.ruleX(quantiles, { x: "value", stroke: "var(--text)", strokeDasharray: "4 3" }),
        ...d3.range(levels).map((level) => Plot.text(quantiles.filter((quantile) => quantile.level === level), { x: (quantile) => first + (position(quantile) * (last - first)) / room, text: name, frameAnchor: "top", lineAnchor: "bottom", dy: -4 - 15 * level, fill: "var(--text)" })),
        Plot.ruleY([0], { stroke: "var(--muted)" }),
        Plot.tip(bins, Plot.pointerX({ x: "middle", y: "value", title, ...TIP })),
      ],
    }),
    ...(quantiles.length ? [key("dashed", "median and percentiles")] : []), "Smoothed; the details show how uncertain the shape is.",
  );
}

// The distribution function. Between two answers it lies between the lower end at the first and the upper end at the second.
function band(metric, _, slot, width, caption) {
  const points = metric.band.at.map((at, row) => ({ at, ...figure(metric.band, row, slot) }));
  if (!("value" in points[0])) return null;
  const stepped = isPoints(metric);
  const corners = points.slice(1).flatMap((to, before) => {
    const from = points[before];
    const low = from.low, high = stepped && to.at - from.at <= 1 ? from.high : to.high;
    return [{ at: from.at, low, high }, { at: to.at, low, high }];
  });
  const title = (point) => sentence(`at most ${point.at}`, point);
  const left = besideOf(true, [0, 1]);
  return captioned(
    caption("Distribution function"),
    svg(`Distribution function at ${points.length} answers`, width, {
      height: 230,
      marginLeft: left, marginRight: 20, marginTop: 10, marginBottom: metric.unit ? 44 : 26,
      x: across(false, [points[0].at, points.at(-1).at], width - left - 20, named(metric.unit)),
      y: axis(true, { grid: true, domain: [0, 1] }),
      marks: [
        Plot.areaY(corners, { x: "at", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.2, className: "band" }),
        Plot.lineY(points, { x: "at", y: "value", curve: stepped ? "step-after" : "linear", stroke: "var(--accent)", strokeWidth: 2 }),
        Plot.dot(points, { x: "at", y: "value", r: 2, fill: "var(--accent)", ariaLabel: title }),
        Plot.tip(points, Plot.pointerX({ x: "at", y: "value", title, ...TIP })),
      ],
    }),
    key("line", "share of devices with this answer or a lower one"), key("band", `contains the whole function: ${SURE}`),
  );
}

// The second of two answers within each group: its share says that of the first.
function groups(metric, _, slot, width, caption) {
  const { joint } = metric;
  const rows = joint.groups.map((label, i) => ({ label, ...figure(joint, 2 * i + 1, slot), row: i })).filter((row) => "value" in row);
  if (!rows.length) return null;
  return lines(caption(`${joint.names[1]}: “${joint.outcomes[1]}”, by ${joint.names[0]}`), rows, { percent: true, suffix: joint.suffix, width, from: 0, drawn: barred, keys: [key("interval", SURE)] });
}

// Shares within groups; the darker, the more common, and the number stands in every cell.
function cells(metric, _, slot, width, caption) {
  const { joint } = metric;
  const all = joint.groups.flatMap((group, i) =>
    joint.outcomes.map((outcome, j) => ({ group, outcome, i, j, ...figure(joint, i * joint.outcomes.length + j, slot) })),
  );
  const known = all.filter((cell) => "value" in cell);
  if (!known.length) return null;
  const left = Math.min(width * 0.35, widest(joint.groups) + SPACE);
  const room = (width - left) / joint.outcomes.length;
  const steep = widest(joint.outcomes) > room - SPACE && room < 90; // names stand upright where there is no room
  const above = steep ? SPACE + Math.min(110, widest(joint.outcomes)) : 30;
  const wide = room > SPACE + widest(known.map((cell) => words(cell).estimate));
  const title = (cell) => sentence(`${cell.outcome} among ${cell.group}`, cell);
  return captioned(
    caption(`${joint.names[1]}, by ${joint.names[0]}`),
    svg(`${joint.names[1]} within each group of ${joint.names[0]}`, width, {
      height: 10 + above + 36 * joint.groups.length,
      marginLeft: left, marginTop: above, marginRight: 0, marginBottom: 10,
      x: { type: "band", label: null, axis: "top", padding: 0.02, domain: d3.range(joint.outcomes.length), tickFormat: (j) => fitted(joint.outcomes[j], steep ? above - SPACE : room - SPACE), tickRotate: steep ? -90 : 0, tickSize: 0 },
      y: { type: "band", label: null, domain: d3.range(joint.groups.length), tickFormat: (i) => fitted(joint.groups[i], left - SPACE), tickSize: 0 },
      marks: [
        Plot.cell(known, { x: "j", y: "i", fill: "var(--accent)", fillOpacity: (cell) => 0.05 + 0.45 * Math.min(1, Math.max(0, cell.value)), inset: 1, rx: 3, ariaLabel: title }),
        Plot.text(known, { x: "j", y: "i", fill: "var(--text)", text: (cell) => (wide ? words(cell).estimate : words(cell).number) }),
        Plot.tip(known, Plot.pointer({ x: "j", y: "i", title, ...TIP })),
      ],
      opacity: { type: "identity" },
    }),
  );
}

// By the names that the data give them.
const CHARTS = { bar, bars, columns, mean, dots, histogram, band, cells, groups, calibration, steps, scores };
