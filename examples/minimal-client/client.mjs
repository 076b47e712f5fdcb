// A minimal Hearsay client, written from docs/protocol alone. Labels such as L-3 are the rules of those pages.
import { createHash, randomBytes, randomInt } from "node:crypto";
import { once } from "node:events";
import fs from "node:fs";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { DatabaseSync } from "node:sqlite";
const DAY = 86_400;
const OFFERS = 4; // how often a refused report is offered again
const OFFERED_AGAIN = ["unknown_metric", "unknown_edition", "former_edition"];
const DONE = ["wrong_window", "window_in_future", "window_closed", "metric_expired", "symbol_out_of_range"];

// Coins and the mechanism. 64-bit integers are BigInt throughout (C-4).
const word = () => randomBytes(8).readBigUInt64BE();
const system = {
  bernoulli: (numerator) => word() < numerator,
  below: (bound, drawn = word()) => // the last words would favor small results, and are drawn again (C-1)
    drawn < 2n ** 64n - (2n ** 64n % bound) ? drawn % bound : system.below(bound),
};
function perturb({ inputs, keep_numerator }, input, coins) {
  const keep = coins.bernoulli(BigInt(keep_numerator));
  const lie = coins.below(BigInt(inputs) - 1n); // drawn in both branches (C-3)
  return Number(keep ? input : (input + 1n + lie) % BigInt(inputs));
}
function randomize({ domain: { values, other }, integers }, answer, coins) {
  const isOther = other !== undefined && typeof answer === "string" && !values.includes(answer);
  const place = values.indexOf(isOther ? other : answer);
  const input = place < 0 ? coins.below(BigInt(integers.inputs)) : BigInt(place); // an invalid answer is replaced (K-2)
  return { symbol: perturb(integers, input, coins), invalid: place < 0 };
}

// Windows. Instants are Unix seconds, and dates are UTC.
const dateOf = (instant) => new Date(instant * 1000).toISOString().slice(0, 10);
const midnightOf = (date) => Date.parse(`${date}T00:00:00Z`) / 1000;
const mondayOf = (midnight) => midnight - ((new Date(midnight * 1000).getUTCDay() + 6) % 7) * DAY;
const firstMondayOf = (year) => mondayOf(midnightOf(`${year}-01-04`));
function windowsAt(instant) {
  const day = dateOf(instant);
  const monday = mondayOf(midnightOf(day));
  const year = dateOf(monday + 3 * DAY).slice(0, 4); // a week belongs to the year of its Thursday
  const week = (monday - firstMondayOf(year)) / (7 * DAY) + 1;
  return { day, week: `${year}-W${String(week).padStart(2, "0")}`, month: day.slice(0, 7) };
}
function parseWindow(text) {
  if (!/^\d{4}-(\d\d(-\d\d)?|W\d\d)$/.test(text) || text >= "9999") return null;
  const kind = { 7: "month", 8: "week", 10: "day" }[text.length];
  const week = firstMondayOf(text.slice(0, 4)) + (text.slice(6) - 1) * 7 * DAY;
  const start = kind === "week" ? week : midnightOf(`${text}-01`.slice(0, 10));
  if (Number.isNaN(start) || windowsAt(start)[kind] !== text) return null; // such as February 30
  const nextMonth = midnightOf(`${dateOf(start + 31 * DAY).slice(0, 7)}-01`);
  const end = { day: start + DAY, week: start + 7 * DAY, month: nextMonth }[kind];
  return end > 0 ? { kind, starts_at: start, ends_at: end } : null;
}
const closesAt = ({ window }) => parseWindow(window).ends_at + 3 * DAY;

// The registry. What this client lacks is refused before anything is recorded (I-1).
function canonical(value) { // E-2
  if (typeof value === "bigint") return String(value);
  if (Array.isArray(value)) return `[${value.map(canonical)}]`;
  const member = (name) => `"${name}":${canonical(value[name])}`;
  if (typeof value === "object") return `{${Object.keys(value).sort().map(member)}}`;
  const escape = (unit) => `\\u${unit.charCodeAt().toString(16).padStart(4, "0")}`;
  return JSON.stringify(value).replace(/[\u0080-\uffff]/g, escape);
}
function editionOf({ kind, domain, window, mechanism, integers: texts }) {
  const integers = Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, BigInt(text)]));
  const meaning = canonical({ schema: 1, kind, domain, window, mechanism, integers });
  return { meaning, edition: createHash("sha256").update(meaning).digest("hex").slice(0, 12) };
}
const refuse = (what) => { throw Object.assign(new Error(what), { isUnsupported: true }); };
const refuseUnknown = (object, known) => Object.keys(object).forEach((key) => known.includes(key) || refuse(key));
const MEMBERS = ["purpose", "terms", "kind", "domain", "window", "mechanism", "integers", "edition", "nanos", "attos"];
function checked(metric) {
  if (metric?.kind !== "category") refuse(metric?.kind ?? "a metric that is not compiled");
  if (metric.mechanism !== "k-ary-randomized-response") refuse(metric.mechanism);
  refuseUnknown(metric, [...MEMBERS, "expires"]);
  refuseUnknown(metric.domain, ["values", "other"]);
  refuseUnknown(metric.integers, ["inputs", "keep_numerator"]);
  if (metric.attos !== "0") refuse("a delta"); // hence the ceiling of delta is never exceeded (L-4)
  if (editionOf(metric).edition !== metric.edition) throw new Error("an edition is not that of its metric");
  return metric;
}

// The ledger: a row of SQLite, which has locks between processes and durable commits (L-3).
class Ledger {
  #database;
  static at = (folder) => join(folder, "ledger.sqlite");
  constructor(folder, mayBeTemporary) {
    fs.mkdirSync(folder, { recursive: true });
    const path = Ledger.at(fs.realpathSync(folder));
    const temporary = [tmpdir(), "/tmp", "/var/tmp", "/dev/shm"].some((each) => path.startsWith(`${each}/`));
    if (temporary && !mayBeTemporary) throw new Error("a ledger must not be in a temporary folder"); // L-7
    const isNew = !fs.existsSync(path);
    this.#database = new DatabaseSync(path, { timeout: 10_000 });
    this.#database.exec("PRAGMA synchronous = EXTRA; PRAGMA secure_delete = ON");
    // A copy has another inode, and a copy of the disk another machine.
    const machine = fs.existsSync("/etc/machine-id") ? fs.readFileSync("/etc/machine-id", "utf8") : hostname();
    const origin = createHash("sha256").update(`${machine} ${fs.statSync(path).ino}`).digest("hex");
    const state = { origin, time: 0, days: {}, paid: [], named: [], stopped: [], waiting: [], uploads: [] };
    // An old file without its row is damaged, and no new device: the update below fails (L-7).
    if (isNew) this.#database.exec(`BEGIN; CREATE TABLE ledger AS SELECT '${JSON.stringify(state)}' AS state; COMMIT`);
    if (this.update((kept) => kept.origin) !== origin) throw new Error("the ledger is a copy"); // L-7
  }
  update(change) {
    this.#database.exec("BEGIN IMMEDIATE");
    try {
      const state = JSON.parse(this.#database.prepare("SELECT state FROM ledger").get().state);
      const result = change(state);
      this.#database.prepare("UPDATE ledger SET state = ?").run(JSON.stringify(state));
      this.#database.exec("COMMIT");
      return result;
    } finally {
      if (this.#database.isTransaction) this.#database.exec("ROLLBACK");
    }
  }
  close = () => this.#database.close();
}
const keyOf = ({ metric, edition }) => `${metric}:${edition}`;
function advance(state, clock) { // false, and no change, if the clock is more than a day behind the ledger (L-8)
  if (clock < state.time - DAY) return false;
  state.time = Math.max(state.time, clock);
  state.paid = state.paid.filter((text) => parseWindow(text.split(":")[2]).ends_at > state.time);
  state.waiting = state.waiting.filter((report) => closesAt(report) > state.time);
  return true;
}
function charge(state, budget, nanos) { // false, and no change, if that would exceed a ceiling (L-4)
  const today = windowsAt(state.time);
  const sum = (days) => days.reduce((total, day) => total + BigInt(state.days[day]), BigInt(nanos));
  const during = (kind) => Object.keys(state.days).filter((day) => windowsAt(midnightOf(day))[kind] === today[kind]);
  const { window, per_window, per_month = budget.lifetime, lifetime } = budget;
  const sums = [[during(window), per_window], [during("month"), per_month], [Object.keys(state.days), lifetime]];
  if (sums.some(([days, ceiling]) => sum(days) > BigInt(ceiling))) return false;
  state.days[today.day] = String(sum(during("day")));
  return true;
}
function stop(state, keys) { // S-1
  state.stopped = [...new Set([...state.stopped, ...keys])];
  const isStopped = (report) => state.stopped.includes(keyOf(report));
  state.waiting = state.waiting.filter((report) => !isStopped(report));
  state.uploads = state.uploads.filter(({ reports }) => !reports.every(isStopped));
}
function pack(state) { // moves what may leave into new uploads; 256 reports are always less than 65,536 bytes (U-4)
  const fresh = state.waiting.filter(({ offers }) => offers === 0);
  const batches = state.waiting.filter(({ offers, due }) => offers > 0 && due <= state.time).map((report) => [report]);
  state.waiting = state.waiting.filter(({ offers, due }) => offers > 0 && due > state.time);
  while (fresh.length > 0) { // in random order, as each report is a random one of those left (U-5)
    const size = Math.min(fresh.length, 256);
    batches.push(Array.from({ length: size }, () => fresh.splice(randomInt(fresh.length), 1)[0]));
  }
  for (const reports of batches) {
    const upload = randomBytes(16).toString("hex");
    const body = JSON.stringify({ upload, reports: reports.map(({ offers, due, ...sent }) => sent) });
    state.uploads.push({ upload, reports, body });
  }
}
function settle(state, { upload, reports }, refused, header) {
  const place = state.uploads.findIndex((each) => each.upload === upload);
  if (place < 0) return; // stopped, erased, or settled by another process meanwhile
  state.uploads.splice(place, 1);
  for (const report of refused.filter(({ code }) => OFFERED_AGAIN.includes(code)).map(({ index }) => reports[index])) {
    const within = Math.min(DAY, Math.floor((closesAt(report) - state.time) / (OFFERS - report.offers)));
    if (report.offers === OFFERS || within <= 0) continue;
    state.waiting.push({ ...report, offers: report.offers + 1, due: state.time + 1 + randomInt(within) });
  }
  const entries = header.length > 2048 ? [] : header.split(",", 64); // S-2
  stop(state, entries.map((each) => each.replace(/^[ \t]+|[ \t]+$/g, "")).filter((each) => state.named.includes(each)));
}

// The wire.
async function post(url, body) {
  const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
  const options = { method: "POST", agent: false, headers, signal: AbortSignal.timeout(60_000) };
  const { request } = await import(url.protocol === "https:" ? "node:https" : "node:http");
  const sent = request(url, options).on("error", () => {}).end(body); // errors reject what is awaited below
  const [response] = await once(sent, "response");
  let said = Buffer.alloc(0);
  for await (const chunk of response) {
    said = Buffer.concat([said, chunk]);
    if (said.length > 65_536) throw new Error("the body is too long");
  }
  return { status: response.statusCode, stopped: response.headers["hearsay-stopped"] ?? "", said: said.toString() };
}
function refusals(status, said, count) { // those of a whole verdict, none for a problem, or null
  const { accepted, refused: list, ...problem } = JSON.parse(said);
  const isProblem = [400, 413, 415, 422].includes(status) && problem.status === status;
  if (status !== 200) return isProblem && typeof problem.code === "string" ? [] : null;
  const refused = list.map(({ index, code }) => ({ index, code }));
  const isNext = ({ index, code }, place) => [...OFFERED_AGAIN, ...DONE].includes(code) &&
    Number.isInteger(index) && index > (refused[place - 1]?.index ?? -1) && index < count;
  const isWhole = Number.isInteger(accepted) && accepted >= 0 && accepted + refused.length === count;
  return isWhole && refused.every(isNext) && JSON.stringify({ accepted, refused }) === said ? refused : null;
}

// What an app uses. Nothing leaves unless the app calls flush().
export class Device { // throws if the registry is refused or the ledger cannot be used
  #options;
  #ledger = null; // open while the user agrees
  constructor(options) { // folder, registry, collector, consent; and for tests clock, mayBeTemporary
    this.#options = { clock: () => Math.floor(Date.now() / 1000), ...options };
    const { registry, collector, consent } = options;
    if (registry?.format !== 1) refuse("a registry that is not compiled to format 1");
    refuseUnknown(registry.budget, ["window", "per_window", "per_month", "lifetime", "delta"]);
    Object.values(registry.metrics).forEach(checked);
    if (!/^(https:\/\/|http:\/\/127\.0\.0\.1[:/])/.test(collector)) throw new Error("a collector needs https"); // U-6
    if (consent) this.#open();
  }
  #open(change) {
    const { folder, mayBeTemporary, clock, registry: { metrics, stopped = [] } } = this.#options;
    this.#ledger ??= new Ledger(folder, mayBeTemporary);
    const named = Object.keys(metrics).map((metric) => keyOf({ metric, edition: metrics[metric].edition }));
    this.#ledger.update((state) => {
      advance(state, clock());
      Object.assign(state, change);
      state.named = [...new Set([...state.named, ...named, ...stopped])];
      stop(state, stopped); // S-4
    });
  }
  setConsent(consent) { // what waited before a change of consent never leaves (P-1)
    if (consent !== (this.#ledger !== null)) this.#open({ waiting: [], uploads: [] });
    if (!consent) this.close();
  }
  forget() { // opts out: the time, the charges and the paid windows stay (P-3)
    const left = { waiting: [], uploads: [], named: [], stopped: [] };
    if (this.#ledger || fs.existsSync(Ledger.at(this.#options.folder))) this.#open(left);
    this.close();
  }
  close() {
    this.#ledger = this.#ledger?.close() ?? null;
  }
  #update = (change) => this.#ledger?.update((state) => advance(state, this.#options.clock()) && change(state));
  record(name, answer) {
    const { metrics, budget } = this.#options.registry;
    if (!this.#ledger) return "no_consent";
    if (!Object.hasOwn(metrics, name)) return "unknown";
    const { edition, expires, nanos, window: kind } = metrics[name];
    const { symbol } = randomize(metrics[name], answer, system); // before the transaction (L-1)
    return this.#update((state) => {
      const window = windowsAt(state.time)[kind];
      const report = { metric: name, edition, window, symbol, offers: 0 };
      if (state.stopped.includes(keyOf(report))) return "stopped";
      if (expires && parseWindow(window).starts_at > midnightOf(expires)) return "expired";
      if (state.paid.includes(`${keyOf(report)}:${window}`)) return "already_recorded";
      if (!charge(state, budget, nanos)) return "out_of_budget";
      state.paid.push(`${keyOf(report)}:${window}`);
      state.waiting.push(report);
      return "queued";
    }) || "unavailable";
  }
  async flush() {
    const uploads = this.#update((state) => pack(state) ?? state.uploads) || [];
    for (const upload of uploads) await this.#offer(upload).catch(() => {}); // no answer: again later
  }
  async #offer(upload) {
    if (!this.#update((state) => state.uploads.some((each) => each.upload === upload.upload))) return;
    const { status, stopped, said } = await post(new URL("/v1/reports", this.#options.collector), upload.body);
    const refused = refusals(status, said, upload.reports.length);
    if (refused) this.#update((state) => settle(state, upload, refused, status === 200 ? stopped : "")); // S-3
  }
}

// The other end of hearsay-conformance: lines of JSON on standard input and output.
function scripted(outcomes, asked = []) {
  const next = (primitive, parameter) => {
    const outcome = outcomes[asked.push([primitive, String(parameter)]) - 1];
    if (typeof outcome !== (primitive === "below" ? "number" : "boolean")) throw new Error("other coins than asked");
    return outcome;
  };
  return { asked, bernoulli: (n) => next("bernoulli", n), below: (b) => BigInt(next("below", b)) };
}
let [device, now] = [null, 0];
const LINES = {
  hello: () => ({ implementation: "minimal client", supports: ["k-ary-randomized-response", "category"] }),
  perturb: ({ integers, input }, coins) => ({ symbol: perturb(integers, BigInt(input), coins), asked: coins.asked }),
  answer: ({ compiled, answer }, coins) => ({ ...randomize(checked(compiled), answer, coins), asked: coins.asked }),
  edition: ({ compiled, trial }) => (trial ? refuse("trials") : editionOf(checked(compiled))),
  window: ({ at, text }) => (text === undefined ? windowsAt(at) : parseWindow(text) ?? { invalid: true }),
  begin({ data: folder, compiled: registry, collector, consent }) {
    if (Array.isArray(consent)) refuse("purposes");
    device?.close();
    device = new Device({ folder, registry, collector, consent, clock: () => now, mayBeTemporary: true });
  },
  consent: ({ consent }) => device.setConsent(consent),
  record: ({ metric, answer }) => ({ recorded: device.record(metric, answer) }),
  flush: () => device.flush(),
  forget: () => device.forget(),
};
const run = async (line) => (await LINES[line.do](line, scripted(line.coins))) ?? {};
const explain = (error) => ({ [error.isUnsupported ? "unsupported" : "error"]: error.message });
if (import.meta.main) {
  for await (const text of createInterface({ input: process.stdin })) {
    const line = JSON.parse(text);
    now = line.at ?? now;
    console.log(JSON.stringify(await run(line).catch(explain)));
  }
}
