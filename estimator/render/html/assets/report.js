"use strict";
// The page: its questions are drawn when they come near, from what is embedded. Nothing is loaded.
const articles = [...document.querySelectorAll("article")];

// One question: what is chosen, and what follows from it.
const drawn = new Map();
const PAPER = 640; // the width of a chart in print, in pixels: A4 and Letter have a little more
let printing = false;
function slots(question) {
  const calendar = page.calendars[question.kind];
  const named = calendar.map(([name], slot) => [slot, question.open.includes(slot) ? `${name}, preliminary` : name]);
  const reported = named.filter(([slot]) => question.n[slot]);
  return question.pooled ? [[calendar.length, "all windows together"], ...reported.reverse()] : reported.reverse();
}
function chooser(article, text, options, chosen, choose) {
  const id = `${article.id}-${text.toLowerCase().replaceAll(" ", "-")}`;
  const select = element("select", { id }, ...options.map(([value, label]) => element("option", { value, textContent: cut(label, 60) })));
  select.value = chosen;
  select.addEventListener("change", () => choose(Number(select.value)));
  return [element("label", { htmlFor: id, textContent: text }), select];
}
const CURVES = { scores: rocOfScores, steps: rocOfSteps };
const chartOf = (question, group, place) => CURVES[group.drawn] ?? (question.days && place === 0 ? days : intervals);
function start(article, question) {
  const choices = slots(question);
  const lines = question.groups.flatMap((group, place) => group.labels.map((label, row) => ({ group, place, row, label })));
  const state = { slot: question.at, line: question.lead };
  const charts = article.querySelector(".charts");
  const controls = article.querySelector(".windows");
  const single = element("div"), time = element("div");
  charts.append(single, time);
  const several = page.calendars[question.kind].filter((_, slot) => question.n[slot]).length > 1;
  const where = () => choices.find(([slot]) => slot === state.slot)[1];
  const room = () => (printing ? PAPER : charts.clientWidth);
  const snapshot = () => {
    const width = room();
    single.replaceChildren(...question.groups.map((group, place) => chartOf(question, group, place)(group, state.slot, width, where())).filter(Boolean));
    const bars = question.bins && histogram(question, state.slot, width, where());
    if (bars) {
      single.append(bars);
      single.append(folded("Numbers of the histogram", article, () => binTable(question, state.slot)));
    }
    const curve = question.band && distributionFunction(question, state.slot, width, where());
    if (curve) {
      single.append(curve);
      single.append(folded("Numbers of the distribution function", article, () => bandTable(question, state.slot)));
    }
    if (!question.joint) return;
    const maps = [heat, ...(question.joint.steps ? [calibration] : [])];
    article.querySelector(".heat").replaceChildren(...maps.map((map) => map(question, state.slot, width, where())).filter(Boolean));
  };
  const overall = () => {
    const { group, row } = lines[state.line];
    time.replaceChildren(
      overTime(question, group, row, room()),
      folded("Numbers over time", article, () => timeTable(question, group, row)),
    );
  };
  if (several) {
    controls.append(...chooser(article, "Window", choices, state.slot, (slot) => {
      state.slot = slot;
      fillTables(article, question, slot, where());
      snapshot();
    }));
    if (lines.length > 1) {
      const options = lines.map((line, at) => [at, line.group.labels.length > 1 && line.place > 0 ? `${line.label} (${line.group.title.toLowerCase()})` : line.label]);
      controls.append(...chooser(article, "Over time", options, state.line, (at) => { state.line = at; overall(); }));
    }
  }
  const draw = () => {
    if (!charts.clientWidth) return; // hidden: it is drawn when it is shown
    snapshot();
    if (several) overall();
  };
  drawn.set(article, draw);
  fillTables(article, question, state.slot, where()); // so that charts and tables round alike
  draw();
}
function ensure(article) {
  const question = page.questions[article.dataset.name];
  if (question && !drawn.has(article)) start(article, question);
}

// The page: draw what comes near, find, order, colours, print.
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
filter.addEventListener("input", () => {
  const query = filter.value.trim().toLowerCase();
  let count = 0;
  for (const article of articles) {
    const text = `${article.dataset.name} ${article.querySelector(".purpose").textContent}`.toLowerCase();
    const hidden = !text.includes(query);
    const shown = article.hidden && !hidden;
    article.hidden = hidden;
    if (shown && drawn.has(article)) drawn.get(article)();
    rows.querySelector(`tr[data-name="${article.dataset.name}"]`).hidden = hidden;
    count += !hidden;
  }
  matchCount.textContent = query ? `${count} of ${articles.length} questions` : "";
});
document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
document.getElementById("order").addEventListener("change", ({ target }) => {
  const orders = {
    asked: (first, second) => first.dataset.order - second.dataset.order,
    name: (first, second) => d3.ascending(first.dataset.name, second.dataset.name),
    change: (first, second) => first.dataset.change - second.dataset.change || first.dataset.order - second.dataset.order,
  };
  for (const article of [...articles].sort(orders[target.value])) {
    listing.append(article);
    rows.append(rows.querySelector(`tr[data-name="${article.dataset.name}"]`));
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
  redraw(true);
  articles.forEach(ensure);
  document.querySelectorAll("details:not(.lazy)").forEach((fold) => { if (!fold.open) { folds.add(fold); fold.open = true; } });
});
window.addEventListener("afterprint", () => {
  redraw(false);
  folds.forEach((fold) => { fold.open = false; });
  folds.clear();
});
document.documentElement.classList.add("scripted");
