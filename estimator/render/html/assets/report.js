"use strict";
// The page: its questions are drawn when they come near, from what is embedded. Nothing is loaded.
const articles = [...document.querySelectorAll("article")];

// One question: what is chosen, and what follows from it.
const drawn = new Map();
const PAPER = { beside: 430, folded: 650 }; // the widths of charts in print, in pixels: A4 and Letter have a little more
let printing = false;
function slots(metric) {
  const calendar = page.calendars[metric.kind];
  const named = calendar.map(([name], slot) => [slot, metric.open.includes(slot) ? `${name}, preliminary` : name]);
  const reported = named.filter(([slot]) => metric.n[slot]);
  return metric.pooled ? [[calendar.length, "all windows together"], ...reported.reverse()] : reported.reverse();
}
function chooser(text, options, chosen, choose) {
  const select = element("select", { className: "chooser" }, ...options.map(([value, label]) => element("option", { value, textContent: cut(label, 60) })));
  select.setAttribute("aria-label", text);
  select.value = chosen;
  select.addEventListener("change", () => choose(Number(select.value)));
  return select;
}
function lineName(group, row) {
  const name = group.line.replace("{}", group.labels[row]);
  return group.labels.length > 1 ? name : name[0].toUpperCase() + name.slice(1);
}
function start(article, metric) {
  const choices = slots(metric);
  const rows = metric.groups.flatMap((group, place) => group.labels.map((_, row) => ({ group, place, row })));
  const state = { slot: metric.at, line: metric.lead };
  const charts = article.querySelector(".charts"), fold = article.querySelector(".details"), folded = article.querySelector(".folded");
  const single = element("div"), time = element("div"), rest = element("div");
  charts.append(single, time);
  const tables = [
    ...(metric.bins ? [lazy("Numbers of the histogram", article, () => binTable(metric, state.slot))] : []),
    ...(metric.band ? [lazy("Numbers of the distribution function", article, () => bandTable(metric, state.slot))] : []),
  ];
  const history = lazy("Numbers over time", article, () => timeTable(metric, rows[state.line].group, rows[state.line].row));
  folded.append(rest, ...tables.map(({ fold }) => fold));
  const several = page.calendars[metric.kind].filter((_, slot) => metric.n[slot]).length > 1;
  const where = () => choices.find(([slot]) => slot === state.slot)[1];
  const windows = several && chooser("Window", choices, state.slot, (slot) => {
    state.slot = slot;
    fillTables(article, metric, slot, where());
    snapshot();
    details();
    tables.forEach(({ refill }) => refill());
  });
  const named = rows.map(({ group, row }, at) => [at, lineName(group, row)]);
  const shownLine = several && (rows.length > 1
    ? chooser("Over time", named, state.line, (at) => { state.line = at; overall(); history.refill(); })
    : named[0][1]);
  const of = (caption) => (windows ? [`${caption}, `, windows] : caption);
  const draw = ([name, place], width, caption) => CHARTS[name](metric, place, state.slot, width, caption);
  const snapshot = () => {
    const [first] = metric.drawings;
    const chart = first && draw(first, printing ? PAPER.beside : charts.clientWidth, of);
    single.replaceChildren(...(chart ? [chart] : windows ? [element("p", {}, windows)] : []));
  };
  const overall = () => {
    const { group, row } = rows[state.line];
    time.replaceChildren(overTime(metric, group, row, printing ? PAPER.beside : charts.clientWidth, [shownLine, " over time"]));
  };
  const details = () => {
    const width = printing ? PAPER.folded : Math.min(folded.clientWidth, PAPER.folded);
    if (!width) return; // drawn when it is unfolded
    const caption = (text) => `${text}, ${where()}`;
    rest.replaceChildren(...metric.drawings.slice(1).map((drawing) => draw(drawing, width, caption)).filter(Boolean));
  };
  const everything = () => {
    if (!charts.clientWidth) return; // hidden: it is drawn when it is shown
    snapshot();
    if (several) overall();
    if (fold.open) details();
  };
  if (several) article.querySelector(".over-time").append(history.fold);
  fold.addEventListener("toggle", () => { if (fold.open) details(); });
  drawn.set(article, everything);
  fillTables(article, metric, state.slot, where()); // so that charts and tables round alike
  everything();
}
function ensure(article) {
  const metric = page.metrics[article.dataset.name];
  if (metric && !drawn.has(article)) start(article, metric);
}

// The page: draw what comes near, find, order, color scheme, print.
const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) { watcher.unobserve(entry.target); ensure(entry.target); }
}, { rootMargin: "400px" });
articles.forEach((article) => watcher.observe(article));
let width = document.documentElement.clientWidth;
new ResizeObserver(() => {
  if (document.documentElement.clientWidth === width || !document.documentElement.clientWidth) return;
  width = document.documentElement.clientWidth;
  drawn.forEach((draw) => draw());
}).observe(document.documentElement);

const rows = document.getElementById("overview-rows");
const listing = document.getElementById("articles");
const matchCount = document.getElementById("match-count");
const filter = document.getElementById("filter");
filter?.addEventListener("input", () => {
  const query = filter.value.trim().toLowerCase();
  let count = 0;
  for (const article of articles) {
    const text = `${article.dataset.title} ${article.dataset.name} ${article.querySelector(".purpose").textContent}`.toLowerCase();
    const hidden = !text.includes(query);
    const shown = article.hidden && !hidden;
    article.hidden = hidden;
    if (shown && drawn.has(article)) drawn.get(article)();
    rows.querySelector(`li[data-name="${article.dataset.name}"]`).hidden = hidden;
    count += !hidden;
  }
  matchCount.textContent = query ? `${count} of ${articles.length} questions` : "";
});
document.getElementById("filters")?.addEventListener("submit", (event) => event.preventDefault());
document.getElementById("order")?.addEventListener("change", ({ target }) => {
  const orders = {
    asked: (first, second) => first.dataset.order - second.dataset.order,
    name: (first, second) => d3.ascending(first.dataset.title, second.dataset.title),
    change: (first, second) => first.dataset.change - second.dataset.change || first.dataset.order - second.dataset.order,
  };
  for (const article of [...articles].sort(orders[target.value])) {
    listing.append(article);
    rows.append(rows.querySelector(`li[data-name="${article.dataset.name}"]`));
  }
});
document.getElementById("theme").addEventListener("change", ({ target }) => {
  if (target.value === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = target.value;
});
const folds = new Set();
function redraw(forPrint) {
  printing = forPrint;
  drawn.forEach((draw) => draw());
}
window.addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not(.lazy)").forEach((fold) => { if (!fold.open) { folds.add(fold); fold.open = true; } });
  articles.forEach(ensure);
  redraw(true);
});
window.addEventListener("afterprint", () => {
  folds.forEach((fold) => { fold.open = false; });
  folds.clear();
  redraw(false);
});
document.documentElement.classList.add("scripted");
