"use strict";
// Draws the charts of the page, when they come near, from the numbers that are embedded in it. Nothing is loaded.
(() => {
  const page = JSON.parse(document.getElementById("data").textContent);
  const articles = [...document.querySelectorAll("article")];
  const FEW = 50; // reports below which a window tells too little to be joined to its neighbours by a line
  const RANGE = { true: { factor: 100, suffix: "\u00a0%" }, false: { factor: 1, suffix: "" } }; // shares, and other numbers

  // Numbers for people, as estimator/render/html/numbers.py writes them.
  const decimals = (low, high, factor) => {
    const length = (high - low) * factor;
    return length > 0 ? Math.min(6, Math.max(0, 1 - Math.floor(Math.log10(length)))) : 1;
  };
  const plain = (value, digits) => {
    const text = value.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits });
    return /[1-9]/.test(text) ? text.replace("-", "−") : text.replace("-", "");
  };
  const whole = (number) => number.toLocaleString("en-US");
  const words = (one, percent) => {
    const { factor, suffix } = RANGE[percent];
    const digits = decimals(one.low, one.high, factor);
    const text = (value) => plain(value * factor, digits);
    return {
      estimate: text(one.value) + suffix,
      interval: `${text(one.low)} to ${text(one.high)}${suffix}`,
      likeliest: one.likeliest === null ? "" : text(one.likeliest) + suffix,
    };
  };
  const sentence = (label, one, percent) => {
    const text = words(one, percent);
    return `${label}: ${text.estimate} (${text.interval})`;
  };
  const cut = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);

  // A figure of one window; null where there is none.
  const figure = (track, row, slot) => {
    const estimate = track.e[row][slot];
    if (estimate === null || estimate === undefined) return null;
    const number = (steps) => Number((steps * track.step).toPrecision(12));
    const likeliest = track.m ? track.m[row][slot] : null;
    return {
      row,
      value: number(estimate),
      low: number(estimate - track.d[row][slot]),
      high: number(estimate + track.u[row][slot]),
      likeliest: likeliest === null || likeliest === undefined ? null : number(estimate + likeliest),
    };
  };
  const figures = (group, slot) =>
    group.labels.map((label, row) => ({ label, ...figure(group, row, slot), row })).filter((one) => "value" in one);

  const element = (name, properties = {}, ...children) => {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  };

  const svg = (label, width, options) => {
    const chart = Plot.plot({ className: "chart", width, ...options });
    // A chart is one image to a screen reader, which has its table; what its marks say is for who inspects it.
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
  const legend = (text) => element("p", { className: "legend", textContent: text });
  const tick = (share) => `${plain(share * 100, Number.isInteger(Number((share * 100).toPrecision(6))) ? 0 : 1)}\u00a0%`;
  const axis = (percent, extra) => ({ label: null, ticks: 5, tickFormat: percent ? tick : undefined, ...extra });

  // Estimates with their intervals, one line a value.
  function intervals(group, slot, width, where) {
    const rows = figures(group, slot);
    if (rows.length < 2) return null;
    const left = Math.min(width * 0.35, 12 + 7 * Math.max(...rows.map((one) => Math.min(24, one.label.length))));
    const most = Math.floor(left / 7);
    const title = (one) => sentence(one.label, one, group.percent);
    return captioned(
      `${group.title}, ${where}`,
      svg(`${group.title}, ${where}: ${rows.length} values; the numbers are in the table below.`, width, {
        height: 40 + 26 * rows.length,
        marginLeft: left,
        marginRight: 20,
        x: axis(group.percent, { grid: true, zero: group.percent }),
        y: { type: "band", label: null, domain: rows.map((one) => one.row), tickFormat: (row) => cut(group.labels[row], most), tickSize: 0 },
        marks: [
          Plot.ruleY(rows, { y: "row", x1: "low", x2: "high", stroke: "var(--accent)", strokeWidth: 4, strokeOpacity: 0.45 }),
          Plot.dot(rows.filter((one) => one.likeliest !== null), { x: "likeliest", y: "row", symbol: "diamond", r: 4, stroke: "var(--likeliest)" }),
          Plot.dot(rows, { x: "value", y: "row", r: 4.5, fill: "var(--accent)", ariaLabel: title }),
          Plot.tip(rows, Plot.pointerY({ x: "value", y: "row", title })),
        ],
      }),
      legend(`Dot: estimate. Bar: interval.${rows.some((one) => one.likeliest !== null) ? " Diamond: likeliest." : ""}`),
    );
  }

  // One figure over the windows: a line with its band, broken where there is no window or too little data.
  function pointsOf(question, group, row) {
    return page.calendars[question.kind].map(([name, start], slot) => {
      const one = figure(group, row, slot);
      const few = one !== null && question.n[slot] < FEW;
      const joined = one !== null && !few;
      return {
        name, slot, few, one, date: new Date(start), preliminary: question.open.includes(slot),
        value: joined ? one.value : NaN, low: joined ? one.low : NaN, high: joined ? one.high : NaN,
      };
    });
  }
  function overTime(question, group, row, width) {
    const points = pointsOf(question, group, row);
    const known = points.filter((point) => point.one !== null);
    const lone = known.filter((point) => point.few);
    const framing = lone.length < known.length ? known.filter((point) => !point.few) : known; // lone ones may stick out
    const title = (point) =>
      `${sentence(point.name, point.one, group.percent)}\n${whole(question.n[point.slot])} reports` +
      `${point.preliminary ? ", preliminary" : ""}${point.few ? ", too few to join" : ""}`;
    const missing = points.length - known.length;
    return captioned(
      `${group.labels[row]} over time`,
      svg(`${group.labels[row]} in ${known.length} windows; the numbers are in the table below.`, width, {
        height: 220,
        marginLeft: 60,
        clip: true,
        x: { type: "utc", label: null, ticks: Math.max(2, Math.floor(width / 110)), domain: d3.extent(points, (point) => point.date), inset: 6 },
        y: axis(group.percent, {
          grid: true, nice: true, domain: [d3.min(framing, (point) => point.one.low), d3.max(framing, (point) => point.one.high)],
        }),
        marks: [
          Plot.areaY(points, { x: "date", y1: "low", y2: "high", fill: "var(--accent)", fillOpacity: 0.25 }),
          Plot.lineY(points, { x: "date", y: "value", stroke: "var(--accent)", strokeWidth: 2 }),
          Plot.ruleX(lone, { x: "date", y1: (point) => point.one.low, y2: (point) => point.one.high, stroke: "var(--muted)", strokeDasharray: "2 2" }),
          Plot.dot(known, {
            x: "date", y: (point) => point.one.value, r: 3, stroke: "var(--accent)",
            fill: (point) => (point.few || point.preliminary ? "var(--page)" : "var(--accent)"), ariaLabel: title,
          }),
          Plot.tip(known, Plot.pointerX({ x: "date", y: (point) => point.one.value, title, clip: false })),
        ],
      }),
      legend(`Band: interval. Hollow: preliminary, or fewer than ${FEW} reports.${missing ? ` No reports in ${missing} of ${points.length} windows.` : ""}`),
    );
  }

  function histogram(question, slot, width, where) {
    const { edges } = question.bins;
    const bins = edges.map(([from, to], row) => ({ from, to, middle: (from + to) / 2, ...figure(question.bins, row, slot) }));
    if (!("value" in bins[0])) return null;
    const group = question.groups.find((one) => one.title.startsWith("Quantiles"));
    const quantiles = group ? figures(group, slot) : [];
    const points = edges[0][0] === edges[0][1];
    const title = (bin) => sentence(points ? plain(bin.from, 0) : `${bin.from} to ${bin.to}`, bin, true);
    const bars = points
      ? Plot.ruleX(bins, { x: "middle", y1: 0, y2: "value", stroke: "var(--accent)", strokeWidth: 3, ariaLabel: title })
      : Plot.rect(bins, { x1: "from", x2: "to", y1: 0, y2: "value", fill: "var(--accent)", fillOpacity: 0.5, ariaLabel: title });
    return captioned(
      `Histogram, ${where}`,
      svg(`Histogram of ${bins.length} bins, ${where}; the numbers are in the table below.`, width, {
        height: 240,
        marginLeft: 60,
        marginTop: 30,
        x: { label: null },
        y: axis(true, { grid: true }),
        marks: [
          bars,
          Plot.areaY(bins, { x: "middle", y1: "low", y2: "high", fill: "var(--likeliest)", fillOpacity: 0.25 }),
          Plot.ruleX(quantiles, { x: "value", stroke: "var(--text)", strokeDasharray: "4 3" }),
          Plot.text(quantiles, { x: "value", text: (one) => one.label.split(" are ")[0], frameAnchor: "top", dy: -14 }),
          Plot.tip(bins, Plot.pointerX({ x: "middle", y: "value", title })),
        ],
      }),
      legend("Bars: smoothed shares of the bins. Band: interval by resampling. Dashed: so many are at most there."),
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
    const left = Math.min(width * 0.35, 12 + 7 * Math.max(...joint.groups.map((one) => Math.min(24, one.length))));
    const most = Math.max(4, Math.floor((width - left) / joint.outcomes.length / 8));
    const title = (cell) => sentence(`${cell.outcome} among ${cell.group}`, cell, true);
    return captioned(
      `${joint.names[1]} within each group of ${joint.names[0]}, ${where}`,
      svg(`${joint.names[1]} within each group of ${joint.names[0]}; the numbers are in the table below.`, width, {
        height: 50 + 34 * joint.groups.length,
        marginLeft: left,
        x: { type: "band", label: null, axis: "top", padding: 0.02, domain: d3.range(joint.outcomes.length), tickFormat: (j) => cut(joint.outcomes[j], most), tickSize: 0 },
        y: { type: "band", label: null, domain: d3.range(joint.groups.length), tickFormat: (i) => cut(joint.groups[i], Math.floor(left / 7)), tickSize: 0 },
        marks: [
          Plot.cell(known, { x: "j", y: "i", fill: "var(--accent)", fillOpacity: (cell) => 0.05 + 0.45 * Math.min(1, Math.max(0, cell.value)), inset: 1, ariaLabel: title }),
          Plot.text(known, { x: "j", y: "i", fill: "var(--text)", text: (cell) => (most < 5 ? plain(cell.value * 100, 0) : words(cell, true).estimate) }),
          Plot.tip(known, Plot.pointer({ x: "j", y: "i", title })),
        ],
        opacity: { type: "identity" },
      }),
    );
  }

  // Tables: those of the page are filled anew for another window; those of charts over time and histograms are made here.
  function table(head, rows) {
    const cell = (name, text, scope) => element(name, { textContent: text, ...(scope ? { scope } : {}) });
    const body = rows.map(([first, ...rest]) =>
      element("tr", {}, cell("th", first, "row"), ...rest.map((one) => (one instanceof Node ? element("td", {}, one) : cell("td", one)))));
    return element("table", {},
      element("thead", {}, element("tr", {}, ...head.map((text) => cell("th", text, "col")))),
      element("tbody", {}, ...body));
  }
  const valued = (text, value) => element("data", { textContent: text, value: String(value) });
  function folded(summary, article, make) {
    const region = element("div", { className: "scroll", tabIndex: 0 });
    region.setAttribute("role", "region");
    region.setAttribute("aria-label", `${summary} of ${article.dataset.name}`);
    const made = element("details", { className: "made" }, element("summary", { textContent: summary }), region);
    made.addEventListener("toggle", () => { if (made.open && !region.firstChild) region.append(make()); });
    return made;
  }
  function timeTable(question, group, row) {
    const rows = page.calendars[question.kind].map(([name], slot) => {
      const one = figure(group, row, slot);
      const reports = question.n[slot] === null ? "no window" : whole(question.n[slot]);
      const label = question.open.includes(slot) ? `${name}, preliminary` : name;
      if (one === null) return [label, reports, "none", ""];
      const text = words(one, group.percent);
      return [label, reports, valued(text.estimate, one.value), text.interval];
    });
    return table(["Window", "Reports", "Estimate", "Interval"], rows);
  }
  function binTable(question, slot) {
    const rows = question.bins.edges.map(([from, to], row) => {
      const one = figure(question.bins, row, slot);
      const text = words(one, true);
      return [from === to ? String(from) : `${from} to ${to}`, valued(text.estimate, one.value), text.interval];
    });
    return table(["Bin", "Share", "Interval by resampling"], rows);
  }
  function fill(row, one, percent) {
    const text = one === null ? { estimate: "no estimate", interval: "", likeliest: "" } : words(one, percent);
    row.cells[1].replaceChildren(one === null ? text.estimate : valued(text.estimate, one.value));
    row.cells[2].textContent = text.interval;
    row.cells[3].textContent = text.likeliest;
  }
  function fillTables(article, question, slot, where) {
    article.querySelectorAll(".of-window").forEach((span) => { span.textContent = where; });
    question.groups.forEach((group, place) => {
      const body = article.querySelector(`tbody[data-group="${place}"]`);
      group.labels.forEach((_, row) => fill(body.rows[row + 1], figure(group, row, slot), group.percent));
    });
    if (!question.joint) return;
    article.querySelectorAll(".joint tbody tr").forEach((line, i) => {
      question.joint.outcomes.forEach((_, j) => {
        const one = figure(question.joint, i * question.joint.outcomes.length + j, slot);
        const text = one && words(one, true);
        const cell = line.cells[j + 1];
        if (one) cell.replaceChildren(valued(text.estimate, one.value), " ", element("small", { textContent: text.interval }));
        else cell.replaceChildren("too few to tell");
      });
    });
  }

  // One question: what is chosen, and what follows from it.
  const drawn = new Map();
  function slots(question) {
    const calendar = page.calendars[question.kind];
    const named = calendar.map(([name], slot) => [slot, question.open.includes(slot) ? `${name}, preliminary` : name]);
    const told = named.filter(([slot]) => question.n[slot]);
    return question.pooled ? [[calendar.length, "all windows together"], ...told.reverse()] : told.reverse();
  }
  function chooser(article, text, options, chosen, choose) {
    const id = `${article.id}-${text.toLowerCase().replaceAll(" ", "-")}`;
    const select = element("select", { id }, ...options.map(([value, label]) => element("option", { value, textContent: cut(label, 60) })));
    select.value = chosen;
    select.addEventListener("change", () => choose(Number(select.value)));
    return [element("label", { htmlFor: id, textContent: text }), select];
  }
  function start(article, question) {
    const told = slots(question);
    const lines = question.groups.flatMap((group, place) => group.labels.map((label, row) => ({ group, place, row, label })));
    const about = article.querySelector(".answer").textContent;
    const first = lines.findIndex(({ label }) => label === "yes" || about.includes(`“${label}”`));
    const state = { slot: question.at, line: Math.max(0, first) };
    const charts = article.querySelector(".charts");
    const controls = article.querySelector(".windows");
    const one = element("div"), time = element("div");
    charts.append(one, time);
    const several = page.calendars[question.kind].filter((_, slot) => question.n[slot]).length > 1;
    const where = () => told.find(([slot]) => slot === state.slot)[1];
    const snapshot = () => {
      const width = charts.clientWidth;
      one.replaceChildren(...question.groups.map((group) => intervals(group, state.slot, width, where())).filter(Boolean));
      if (question.bins && histogram(question, state.slot, width, where())) {
        one.append(histogram(question, state.slot, width, where()));
        one.append(folded("Numbers of the histogram", article, () => binTable(question, state.slot)));
      }
      const map = question.joint && heat(question, state.slot, width, where());
      if (question.joint) article.querySelector(".heat").replaceChildren(...(map ? [map] : []));
    };
    const overall = () => {
      const { group, row } = lines[state.line];
      time.replaceChildren(
        overTime(question, group, row, charts.clientWidth),
        folded("Numbers over time", article, () => timeTable(question, group, row)),
      );
    };
    if (several) {
      controls.append(...chooser(article, "Window", told, state.slot, (slot) => {
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
  const found = document.getElementById("found");
  const filter = document.getElementById("filter");
  filter.addEventListener("input", () => {
    const wanted = filter.value.trim().toLowerCase();
    let count = 0;
    for (const article of articles) {
      const text = `${article.dataset.name} ${article.querySelector(".purpose").textContent}`.toLowerCase();
      const hidden = !text.includes(wanted);
      const shown = article.hidden && !hidden;
      article.hidden = hidden;
      if (shown && drawn.has(article)) drawn.get(article)();
      rows.querySelector(`tr[data-name="${article.dataset.name}"]`).hidden = hidden;
      count += !hidden;
    }
    found.textContent = wanted ? `${count} of ${articles.length} questions` : "";
  });
  document.getElementById("filters").addEventListener("submit", (event) => event.preventDefault());
  document.getElementById("order").addEventListener("change", ({ target }) => {
    const orders = {
      asked: (one, other) => one.dataset.order - other.dataset.order,
      name: (one, other) => d3.ascending(one.dataset.name, other.dataset.name),
      change: (one, other) => one.dataset.change - other.dataset.change || one.dataset.order - other.dataset.order,
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
  window.addEventListener("beforeprint", () => {
    articles.forEach(ensure);
    document.querySelectorAll("details:not(.made)").forEach((one) => { if (!one.open) { folds.add(one); one.open = true; } });
  });
  window.addEventListener("afterprint", () => {
    folds.forEach((one) => { one.open = false; });
    folds.clear();
  });
  document.documentElement.classList.add("scripted");
})();
