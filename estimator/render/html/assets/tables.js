"use strict";
// Tables: those of the page are refilled for another window; those over time and of histograms are built here.
function table(head, rows) {
  const cell = (text, scope, className = "") => element("th", { textContent: text, scope, className });
  const number = (value, column) => {
    const created = element("td", { className: "number" }, value);
    created.dataset.head = head[column + 1];
    return created;
  };
  const body = rows.map(([first, ...rest]) => element("tr", {}, cell(first, "row"), ...rest.map(number)));
  return element("table", { className: head.length > 3 ? "stacked" : "" },
    element("thead", {}, element("tr", {}, ...head.map((text, column) => cell(text, "col", column ? "number" : "")))),
    element("tbody", {}, ...body));
}
const valued = (text, value) => element("data", { textContent: text, value: String(value) });
// A table that is made when it is unfolded, and again for another window.
function lazy(summary, article, make) {
  const region = element("div", { className: "scroll", tabIndex: 0 });
  region.setAttribute("role", "region");
  region.setAttribute("aria-label", `${summary} of ${article.dataset.title}`);
  const fold = element("details", { className: "lazy" }, element("summary", { textContent: summary }), region);
  const refill = () => region.replaceChildren(...(fold.open ? [make()] : []));
  fold.addEventListener("toggle", refill);
  return { fold, refill };
}
function timeTable(metric, group, row) {
  const rows = page.calendars[metric.kind].map(([name], slot) => {
    const estimate = figure(group, row, slot);
    const reports = metric.n[slot] === null ? "no window" : whole(metric.n[slot]);
    const label = metric.open.includes(slot) ? `${name}, preliminary` : name;
    if (estimate === null) return [label, reports, "none", ""];
    const text = words(estimate);
    return [label, reports, valued(text.estimate, estimate.value), text.interval];
  });
  return table(["Window", "Reports", "Estimate", "Interval"], rows);
}
function binTable(metric, slot) {
  const points = isPoints(metric);
  const rows = metric.bins.edges.map(([from, to], row) => {
    const estimate = figure(metric.bins, row, slot);
    const text = words(estimate);
    return [points ? String(from) : `${from} to ${to}`, valued(text.estimate, estimate.value), points ? text.interval : text.high];
  });
  return table(["Bin", "Share", points ? "Interval" : "At most"], rows);
}
function bandTable(metric, slot) {
  const rows = metric.band.at.map((at, row) => {
    const estimate = figure(metric.band, row, slot);
    const text = words(estimate);
    return [String(at), valued(text.estimate, estimate.value), text.interval];
  });
  return table(["Answer", "Share of devices with this answer or a lower one", "Simultaneous interval"], rows);
}
function fill(row, estimate) {
  const text = estimate === null ? { estimate: "no estimate", interval: "", likeliest: "" } : words(estimate);
  row.cells[1].replaceChildren(estimate === null ? text.estimate : valued(text.estimate, estimate.value));
  row.cells[2].textContent = text.interval;
  if (row.cells.length > 3) row.cells[3].textContent = text.likeliest;
}
function fillTables(article, metric, slot, where) {
  article.querySelectorAll(".of-window").forEach((span) => { span.textContent = where; });
  metric.groups.forEach((group, place) => {
    const body = article.querySelector(`tbody[data-group="${place}"]`);
    const rows = [...body.rows].filter((row) => row.cells.length > 1); // without the title
    group.labels.forEach((_, row) => fill(rows[row], figure(group, row, slot)));
  });
  if (!metric.joint) return;
  article.querySelectorAll(".joint tbody tr").forEach((line, i) => {
    metric.joint.outcomes.forEach((_, j) => {
      const estimate = figure(metric.joint, i * metric.joint.outcomes.length + j, slot);
      const text = estimate && words(estimate);
      const cell = line.cells[j + 1];
      if (estimate) cell.replaceChildren(valued(text.estimate, estimate.value), " ", element("small", { textContent: text.interval }));
      else cell.replaceChildren("too few to tell");
    });
  });
}
