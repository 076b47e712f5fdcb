"use strict";
// The charts: each is an image with a caption, drawn by Observable Plot, and a table beside it has its numbers.
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
  chart.setAttribute("aria-label", label);
  return chart;
};
const captioned = (caption, chart, ...notes) =>
  element("figure", {}, element("figcaption", { textContent: caption }), ...notes, chart);
const legend = (...parts) => element("p", { className: "legend" }, ...parts);

// Axes: as many ticks as there is room for, with the width of a character for the font of charts.
const CHARACTER = 7;
const tick = (percent) => (number) => (percent ? `${plain(number * 100, 4)}%` : plain(number, 6));
const axis = (percent, extra) => ({ label: null, ticks: 5, tickFormat: tick(percent), ...extra });
function across(percent, low, high, room, extra) {
  const format = tick(percent);
  const fitting = d3.range(6, 1, -1).map((count) => d3.ticks(low, high, count))
    .find((ticks) => d3.sum(ticks, (number) => CHARACTER * (format(number).length + 2)) <= room);
  return axis(percent, { ticks: fitting ?? [low, high], domain: [low, high], ...extra });
}
// A label above each line, in as many rows as keep them apart.
function apart(lines, position, text) {
  const ends = [];
  return d3.sort(lines, position).map((line) => {
    const half = (CHARACTER * (text(line).length + 1)) / 2;
    const free = ends.findIndex((end) => end <= position(line) - half);
    const level = free < 0 ? ends.length : free;
    ends[level] = position(line) + half;
    return { ...line, level };
  });
}

// What happened on a day: a line through the chart, with its title above, in as many rows as keep titles apart.
const ROW = 14; // pixels of a row of titles
function happened(kind, dates, room) {
  const events = page.events[kind].map(([day, title]) => ({ date: new Date(day), title, name: cut(title, Math.floor((0.6 * room) / CHARACTER)) }));
  const domain = d3.extent([...dates, ...events.map((event) => event.date)]);
  const position = d3.scaleUtc(domain, [0, room]);
  const rows = [];
  for (const event of events) {
    const [at, long] = [position(event.date), CHARACTER * (event.name.length + 1)];
    event.anchor = at > room / 2 ? "end" : "start"; // titles do not leave the chart
    const [from, to] = at > room / 2 ? [at - long, at] : [at, at + long];
    const free = rows.findIndex((taken) => taken.every(([start, end]) => end <= from || to <= start));
    event.level = free < 0 ? rows.push([]) - 1 : free;
    rows[event.level].push([from, to]);
  }
  const titles = (event) => ({ x: "date", text: "name", frameAnchor: "top", textAnchor: event.anchor, dy: -10 - ROW * event.level, fill: "var(--text)", clip: false });
  return {
    domain,
    above: ROW * rows.length,
    said: events.length ? ` Events: ${events.map((event) => `${event.title}, ${event.date.toISOString().slice(0, 10)}`).join("; ")}.` : "",
    marks: events.flatMap((event) => [
      Plot.ruleX([event], { x: "date", stroke: "var(--muted)", strokeDasharray: "2 3", className: "event" }),
      Plot.text([event], titles(event)),
    ]),
  };
}

// The marks of legends, drawn as the charts draw them.
const MARKS = {
  dot: { fill: "var(--accent)", d: "M11 6a4 4 0 1 1-8 0a4 4 0 1 1 8 0Z" },
  hollow: { fill: "var(--page)", stroke: "var(--accent)", "stroke-width": 1.5, d: "M10.5 6a3.5 3.5 0 1 1-7 0a3.5 3.5 0 1 1 7 0Z" },
  bar: { fill: "var(--accent)", "fill-opacity": 0.45, d: "M0 4h14v4h-14Z" },
  band: { fill: "var(--accent)", "fill-opacity": 0.25, d: "M0 0h14v12h-14Z" },
  line: { stroke: "var(--accent)", "stroke-width": 2, d: "M0 6h14" },
  dashed: { stroke: "var(--text)", "stroke-dasharray": "3 3", d: "M0 6h14" },
  diamond: { fill: "none", stroke: "var(--likeliest)", "stroke-width": 1.5, d: "M7 0l4 6l-4 6l-4 -6Z" },
  beyond: { fill: "var(--page)", stroke: "var(--accent)", "stroke-width": 1.5, d: "M7 2l5 8h-10Z" },
};
function key(mark, meaning) {
  const drawing = d3.create("svg:svg").attr("class", "key").attr("viewBox", "0 0 14 12").attr("aria-hidden", "true");
  const path = drawing.append("path").attr("fill", "none");
  for (const [name, value] of Object.entries(MARKS[mark])) path.attr(name, value);
  return element("span", { className: "keyed" }, drawing.node(), ` ${meaning} `);
}

// Estimates with their intervals, a line for each value.
function intervals(group, slot, width, where) {
  const rows = figures(group, slot);
  if (rows.length < 2) return null;
  const left = Math.min(width * 0.42, 12 + CHARACTER * Math.max(...rows.map((estimate) => Math.min(24, estimate.label.length))));
  const most = Math.floor(left / CHARACTER);
  const title = (estimate) => sentence(estimate.label, estimate);
  const likely = rows.filter((estimate) => estimate.likeliest !== null);
  const ends = [...rows.flatMap(({ low, high, value }) => [low, high, value]), ...likely.map((estimate) => estimate.likeliest)];
  const zero = group.percent ? [0] : [];
  return captioned(
    `${group.title}, ${where}`,
    svg(`${group.title}, ${where}: ${rows.length} values; the numbers are in the table below.`, width, {
      height: 40 + 26 * rows.length,
      marginLeft: left,
      marginRight: 20,
      x: across(group.percent, d3.min([...ends, ...zero]), d3.max([...ends, ...zero]), width - left - 20, { grid: true }),
      y: { type: "band", label: null, domain: rows.map((estimate) => estimate.row), tickFormat: (row) => cut(group.labels[row], most), tickSize: 0 },
      marks: [
        Plot.ruleY(rows, { y: "row", x1: "low", x2: "high", stroke: "var(--accent)", strokeWidth: 4, strokeOpacity: 0.45 }),
        Plot.dot(rows, { x: "value", y: "row", r: 4, fill: "var(--accent)", ariaLabel: title }),
        Plot.dot(likely, { x: "likeliest", y: "row", symbol: "diamond", r: 6, stroke: "var(--likeliest)", className: "likeliest" }), // around the dot, not over it
        Plot.tip(rows, Plot.pointerY({ x: "value", y: "row", title })),
      ],
    }),
    legend(key("dot", "estimate"), key("bar", "interval"), ...(likely.length ? [key("diamond", "likeliest")] : [])),
  );
}

// How well yes is told from no: for each share of no that is taken for yes wrongly, the share of yes that is found.
const SQUARE = 340; // the most pixels of a side
function roc(caption, width, where, marks, points, ...notes) {
  const title = (point) => point.title;
  const side = Math.min(width, SQUARE);
  return captioned(
    `${caption}, ${where}`,
    svg(`${caption}, ${where}; the numbers are in the table below.`, side, {
      height: side, marginLeft: 60, marginBottom: 40, marginRight: 20,
      x: axis(true, { grid: true, domain: [0, 1], label: "of those who say no, taken for yes" }),
      y: axis(true, { grid: true, domain: [0, 1], label: "of those who say yes, found" }),
      marks: [
        Plot.line([[0, 0], [1, 1]], { stroke: "var(--text)", strokeDasharray: "3 3" }),
        ...marks,
        Plot.dot(points, { x: "no", y: "yes", r: 4, fill: "var(--accent)", ariaLabel: title }),
        Plot.tip(points, Plot.pointer({ x: "no", y: "yes", title })),
      ],
    }),
    legend(...notes, key("dashed", "chance")),
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
function rocOfScores(group, slot, width, where) {
  const auc = figure(group, 0, slot);
  if (!auc) return null;
  const above = (z, area) => normal(z + Math.SQRT2 * scoreOf(area));
  const curve = d3.range(-4, 4.01, 0.1).map((z) => ({ no: normal(z), yes: above(z, auc.value), low: above(z, auc.low), high: above(z, auc.high) }));
  const corners = [{ no: 0, yes: 0, low: 0, high: 0 }, ...curve, { no: 1, yes: 1, low: 1, high: 1 }];
  return roc("Ranking of yes above no, if scores are normal", width, where, [
    Plot.areaY(corners, { x: "no", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.25, className: "band" }),
    Plot.line(corners, { x: "no", y: "yes", stroke: "var(--accent)", strokeWidth: 2, className: "curve" }),
  ], [], key("line", "curve of the estimated AUC"), key("band", "curves of its interval"));
}

// Measured at each step: everybody from there on is taken for a yes.
function rocOfSteps(group, slot, width, where) {
  const rows = figures(group, slot);
  if (rows.length < group.labels.length) return null;
  const points = d3.range(rows.length - 2, -1, -2).map((at) => {
    const [no, yes] = [rows[at], rows[at + 1]];
    const title = `${sentence(yes.label, yes)}\n${sentence(no.label, no)}`;
    return { no: no.value, yes: yes.value, best: [no.low, yes.high], worst: [no.high, yes.low], title };
  });
  const band = [[0, 0], ...points.map((point) => point.best), [1, 1], ...points.map((point) => point.worst).reverse()];
  return roc("Ranking of yes above no, by steps", width, where, [
    Plot.line(band, { fill: "var(--accent)", fillOpacity: 0.25, stroke: "none", curve: "linear-closed", className: "band" }),
    Plot.line([{ no: 0, yes: 0 }, ...points, { no: 1, yes: 1 }], { x: "no", y: "yes", stroke: "var(--accent)", strokeWidth: 2 }),
  ], points, key("dot", "from this step on"), key("band", "between the corners of both intervals"));
}

// The share of yes at each step, and what the step's name promises.
function calibration(question, slot, width, where) {
  const { joint } = question;
  const known = joint.groups.map((name, i) => ({ name, i, ends: joint.steps[i], ...figure(joint, 2 * i + 1, slot) })).filter((step) => "value" in step);
  if (!known.length) return null;
  const title = (step) => sentence(`${joint.outcomes[1]} among ${step.name}`, step);
  const caption = `${joint.outcomes[1]} at each step of ${joint.names[0]}, ${where}`;
  const most = Math.floor((width - 80) / joint.groups.length / CHARACTER);
  return captioned(
    caption,
    svg(`${caption}; the numbers are in the table below.`, width, {
      height: 240,
      marginLeft: 60,
      x: { type: "band", label: null, domain: d3.range(joint.groups.length), tickFormat: (i) => cut(joint.groups[i], most), tickSize: 0 },
      y: axis(true, { grid: true, domain: [0, 1] }),
      marks: [
        Plot.barY(known.filter((step) => step.ends), { x: "i", y1: (step) => step.ends[0], y2: (step) => step.ends[1], fill: "var(--likeliest)", fillOpacity: 0.2, className: "promised" }),
        Plot.ruleX(known, { x: "i", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 4, strokeOpacity: 0.45 }),
        Plot.dot(known, { x: "i", y: "value", r: 4, fill: "var(--accent)", ariaLabel: title }),
        Plot.tip(known, Plot.pointerX({ x: "i", y: "value", title })),
      ],
    }),
    legend(key("dot", "estimate"), key("bar", "interval"), joint.steps.length ? "Wide bars: the range that the step names." : ""),
  );
}

// Days of use: a bar for each number of days, with its interval.
function days(group, slot, width, where) {
  const rows = figures(group, slot);
  if (rows.length < 2) return null;
  const room = width - 80;
  const every = Math.ceil((3 * CHARACTER * rows.length) / room); // so that the numbers below do not touch
  const title = (estimate) => sentence(estimate.label, estimate);
  return captioned(
    `Days of use, ${where}`,
    svg(`Share of devices by days of use, ${where}: ${rows.length} bars; the numbers are in the table below.`, width, {
      height: 240,
      marginLeft: 60,
      x: { type: "band", label: "days of use", domain: rows.map((estimate) => estimate.row), tickFormat: (row) => (row % every ? "" : group.labels[row]), tickSize: 0 },
      y: axis(true, { grid: true }),
      marks: [
        Plot.barY(rows, { x: "row", y: "value", fill: "var(--accent)", fillOpacity: 0.35, className: "days" }),
        Plot.ruleX(rows, { x: "row", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 4, strokeOpacity: 0.45 }),
        Plot.dot(rows, { x: "row", y: "value", r: 3, fill: "var(--accent)", ariaLabel: title }),
        Plot.ruleY([0], { stroke: "var(--text)" }),
        Plot.tip(rows, Plot.pointerX({ x: "row", y: "value", title })),
      ],
    }),
    legend(key("dot", "share of devices with this many days"), key("bar", "interval")),
  );
}

// One figure over the windows: a line with its band, broken where there is no window or too little data.
function pointsOf(question, group, row) {
  return page.calendars[question.kind].map(([name, start], slot) => {
    const estimate = figure(group, row, slot);
    const few = estimate !== null && question.n[slot] < FEW;
    const joined = estimate !== null && !few;
    return {
      name, slot, few, estimate, date: new Date(start), preliminary: question.open.includes(slot),
      value: joined ? estimate.value : NaN, low: joined ? estimate.low : NaN, high: joined ? estimate.high : NaN,
    };
  });
}
function overTime(question, group, row, width) {
  const points = pointsOf(question, group, row);
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
    `${sentence(point.name, point.estimate)}\n${whole(question.n[point.slot])} reports` +
    `${point.preliminary ? ", preliminary" : ""}${point.few ? ", too few to join" : ""}`;
  const missing = points.length - known.length;
  const every = Math.ceil(points.length / Math.max(2, Math.floor((width - 80) / 50)));
  const events = happened(question.kind, points.map((point) => point.date), width - 92);
  return captioned(
    `${group.labels[row]} over time`,
    svg(`${group.labels[row]} in ${known.length} windows; the numbers are in the table below.${events.said}`, width, {
      height: 220 + events.above,
      marginLeft: 60,
      marginTop: 20 + events.above,
      clip: true,
      x: { type: "utc", label: null, ticks: points.filter((_, slot) => slot % every === 0).map((point) => point.date), domain: events.domain, inset: 6 },
      y: axis(group.percent, { grid: true, domain: [bottom, top] }),
      marks: [
        ...events.marks,
        Plot.areaY(points, { x: "date", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.25 }),
        Plot.ruleX(alone, { x: "date", y1: "low", y2: "high", stroke: "var(--accent)", strokeWidth: 4, strokeOpacity: 0.45, className: "alone" }), // a band has a width
        Plot.lineY(points, { x: "date", y: "value", stroke: "var(--accent)", strokeWidth: 2 }),
        Plot.ruleX(lone, { x: "date", y1: (point) => point.estimate.low, y2: (point) => point.estimate.high, stroke: "var(--muted)", strokeDasharray: "2 2" }),
        Plot.dot(inside, {
          x: "date", y: (point) => point.estimate.value, r: 3, stroke: "var(--accent)",
          fill: (point) => (point.few || point.preliminary ? "var(--page)" : "var(--accent)"), ariaLabel: title,
        }),
        Plot.dot(beyond, {
          x: "date", y: edge, r: 5, symbol: "triangle", rotate: (point) => (edge(point) === top ? 0 : 180), clip: false,
          stroke: "var(--accent)", fill: "var(--page)", ariaLabel: title, className: "beyond",
        }),
        beside(beyond.filter(late), "end", -10),
        beside(beyond.filter((point) => !late(point)), "start", 10),
        Plot.tip(known, Plot.pointerX({ x: "date", y: (point) => (beyond.includes(point) ? edge(point) : point.estimate.value), title, clip: false })),
      ],
    }),
    legend(
      key("band", "interval"), key("hollow", `preliminary, or fewer than ${FEW} reports`),
      ...(beyond.length ? [key("beyond", "beyond the chart")] : []),
      missing ? `No reports in ${missing} of ${points.length} windows.` : "",
    ),
  );
}

const isPoints = (question) => question.bins.edges[0][0] === question.bins.edges[0][1]; // counts, each with a bin
const BINS_ALONE =
  "They have no intervals here: rounded answers cannot show that any lies within one bin. The distribution function shows how sure the shape is.";

function histogram(question, slot, width, where) {
  const { edges } = question.bins;
  const bins = edges.map(([from, to], row) => ({ from, to, middle: (from + to) / 2, ...figure(question.bins, row, slot) }));
  if (!("value" in bins[0])) return null;
  const group = question.groups.find((candidate) => candidate.title === "Quantiles");
  const [first, last] = [edges[0][0], edges.at(-1)[1]];
  const room = width - 80;
  const name = (quantile) => quantile.label;
  const quantiles = apart(group ? figures(group, slot) : [], ({ value }) => (room * (value - first)) / (last - first), name);
  const levels = 1 + d3.max(quantiles, (quantile) => quantile.level) || 0;
  const points = isPoints(question);
  const title = (bin) =>
    points ? sentence(plain(bin.from, 0), bin) : `${bin.from} to ${bin.to}: ${words(bin).estimate} (at most ${words(bin).high})`;
  const bars = points
    ? [
        Plot.ruleX(bins, { x: "middle", y1: "low", y2: "high", stroke: "var(--likeliest)", strokeWidth: 7, strokeOpacity: 0.3 }),
        Plot.ruleX(bins, { x: "middle", y1: 0, y2: "value", stroke: "var(--accent)", strokeWidth: 3, ariaLabel: title }),
      ]
    : [Plot.rect(bins, { x1: "from", x2: "to", y1: 0, y2: "value", fill: "var(--accent)", fillOpacity: 0.5, ariaLabel: title })];
  return captioned(
    `Histogram, ${where}`,
    svg(`Histogram of ${bins.length} bins, ${where}; the numbers are in the table below.`, width, {
      height: 240,
      marginLeft: 60,
      marginTop: 18 + 12 * levels,
      x: across(false, first, last, room, {}),
      y: axis(true, { grid: true }),
      marks: [
        ...bars,
        Plot.ruleX(quantiles, { x: "value", stroke: "var(--text)", strokeDasharray: "4 3" }),
        ...d3.range(levels).map((level) => Plot.text(quantiles.filter((quantile) => quantile.level === level), { x: "value", text: name, frameAnchor: "top", dy: -14 - 12 * level })),
        Plot.tip(bins, Plot.pointerX({ x: "middle", y: "value", title })),
      ],
    }),
    legend(key("bar", "smoothed share"), key("dashed", "median and percentiles"), points ? "Wide bars: intervals." : BINS_ALONE),
  );
}

// The distribution function. Between two answers it lies between the lower end at the first and the upper end at the second.
function distributionFunction(question, slot, width, where) {
  const points = question.band.at.map((at, row) => ({ at, ...figure(question.band, row, slot) }));
  if (!("value" in points[0])) return null;
  const stepped = isPoints(question);
  const corners = points.slice(1).flatMap((to, before) => {
    const from = points[before];
    const low = from.low, high = stepped && to.at - from.at <= 1 ? from.high : to.high;
    return [{ at: from.at, low, high }, { at: to.at, low, high }];
  });
  const title = (point) => sentence(`at most ${point.at}`, point);
  return captioned(
    `Distribution function, ${where}`,
    svg(`Distribution function at ${points.length} answers, ${where}; the numbers are in the table below.`, width, {
      height: 240,
      marginLeft: 60,
      x: across(false, points[0].at, points.at(-1).at, width - 80, {}),
      y: axis(true, { grid: true, domain: [0, 1] }),
      marks: [
        Plot.areaY(corners, { x: "at", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.25, className: "band" }),
        Plot.lineY(points, { x: "at", y: "value", curve: stepped ? "step-after" : "linear", stroke: "var(--accent)", strokeWidth: 2 }),
        Plot.dot(points, { x: "at", y: "value", r: 2, fill: "var(--accent)", ariaLabel: title }),
        Plot.tip(points, Plot.pointerX({ x: "at", y: "value", title })),
      ],
    }),
    legend(key("line", "estimated share of devices with an answer up to there"), key("band", "holds the whole function with the confidence of the intervals")),
  );
}

// Shares within groups; the darker, the more common, and the number stands in every cell.
function heat(question, slot, width, where) {
  const { joint } = question;
  const cells = joint.groups.flatMap((group, i) =>
    joint.outcomes.map((outcome, j) => ({ group, outcome, i, j, ...figure(joint, i * joint.outcomes.length + j, slot) })),
  );
  const known = cells.filter((cell) => "value" in cell);
  if (!known.length) return null;
  const left = Math.min(width * 0.35, 12 + 7 * Math.max(...joint.groups.map((name) => Math.min(24, name.length))));
  const most = Math.floor((width - left) / joint.outcomes.length / 8);
  const steep = most < Math.min(8, ...joint.outcomes.map((name) => name.length)); // names stand upright where there is no room
  const shown = steep ? 12 : most;
  const above = steep ? 12 + CHARACTER * Math.min(shown, d3.max(joint.outcomes, (name) => name.length)) : 30;
  const title = (cell) => sentence(`${cell.outcome} among ${cell.group}`, cell);
  return captioned(
    `${joint.names[1]} within each group of ${joint.names[0]}, ${where}`,
    svg(`${joint.names[1]} within each group of ${joint.names[0]}; the numbers are in the table below.`, width, {
      height: 20 + above + 34 * joint.groups.length,
      marginLeft: left,
      marginTop: above,
      x: { type: "band", label: null, axis: "top", padding: 0.02, domain: d3.range(joint.outcomes.length), tickFormat: (j) => cut(joint.outcomes[j], shown), tickRotate: steep ? -90 : 0, tickSize: 0 },
      y: { type: "band", label: null, domain: d3.range(joint.groups.length), tickFormat: (i) => cut(joint.groups[i], Math.floor(left / 7)), tickSize: 0 },
      marks: [
        Plot.cell(known, { x: "j", y: "i", fill: "var(--accent)", fillOpacity: (cell) => 0.05 + 0.45 * Math.min(1, Math.max(0, cell.value)), inset: 1, ariaLabel: title }),
        Plot.text(known, { x: "j", y: "i", fill: "var(--text)", text: (cell) => (most < 5 ? words(cell).number : words(cell).estimate) }),
        Plot.tip(known, Plot.pointer({ x: "j", y: "i", title })),
      ],
      opacity: { type: "identity" },
    }),
  );
}
