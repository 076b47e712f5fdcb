/** `Telemetry`, the object that an app creates to record answers and send reports. */

import { pick, systemCoins, type Coins } from "./coins.js";
import type { CompiledRegistry } from "./compiled.js";
import { SUPPRESSED, consentOf, covers, type Consent, type Decision } from "./decision.js";
import { HearsayError, UnknownMetricError } from "./errors.js";
import { explain } from "./failure.js";
import type { HistoryEntry } from "./history.js";
import { advance, charge, spentIn } from "./ledger.js";
import { Metric, type Strata } from "./metric.js";
import { TIMEOUT_S, afterWindow, conclude, dueS, enqueue, isHeld, nextUpload, type Reply } from "./outbox.js";
import { sentencesIn, type Say } from "./sentences.js";
import { drop, fresh, keyOf, nothing, type Purposed, type State, type Store } from "./state.js";
import { isStopped, name } from "./stops.js";
import { DAY_S, GRACE_S, dayText, parseWindow, windowOf, windowOn, type Window } from "./window.js";
import { encodeUpload } from "./wire.js";

/** The outcome of a call that records an answer. The app may ignore it. */
export type Recorded =
  | "queued"
  | "counted"
  | "already_recorded"
  | "out_of_budget"
  /** This device's storage is new. If earlier storage was deleted, the amount spent in this window is unknown. */
  | "first_window"
  | "no_consent"
  /** The environment or the machine suppresses telemetry. */
  | "suppressed"
  /** The collector has stopped this metric for all devices. */
  | "stopped"
  | "expired"
  /** The registry has no such metric, or the metric is not a count. */
  | "unknown"
  /** The storage, the clock or the frame cannot be used. `problem` says why. */
  | "unavailable";

/** The outcome of a flush, with the names of the Python SDK. `problem` says more. */
export type Flushed =
  /** The collector has counted all reports that waited. */
  | "sent"
  /** No report waited, except reports that wait for their window to end. */
  | "nothing_waiting"
  /** The remaining reports are due later, or another tab is sending. */
  | "not_due"
  /** The collector did not respond, or does not allow the page's origin. The reports are sent again later. */
  | "offline"
  /** A server responded, but did not accept everything. */
  | "refused"
  | "no_consent"
  | "suppressed"
  | "unavailable";

/** The spent budget and the ceilings, in epsilon. */
export interface BudgetStatus {
  readonly window: string;
  readonly windowSpent: number;
  readonly windowCeiling: number;
  readonly storageLifeSpent: number;
  readonly storageLifeCeiling: number;
}

/** The settings that an app passes. All but registry, collector and store have a default. */
export interface Options {
  /** The collector's base URL, such as https://telemetry.example.com. */
  readonly collector: string;
  readonly store: Store;
  /**
   * Whether `collector` may be an http:// address of another machine. Allow this only within your own network, because
   * anyone on the path can read the reports and the key, and respond instead of the collector.
   */
  readonly allowPlainHttp?: boolean;
  /**
   * The user's consent: true for everything, purposes such as `["usage"]`, or a decision from `ask` or `current` of the
   * consent kit. Without consent, nothing is stored or sent.
   */
  readonly consent?: Consent | Decision;
  /** This device's values of the registry's public variables, which are sent unperturbed. */
  readonly strata?: Strata;
  /** The secret of an upload key, if the collector requires a key. */
  readonly uploadKey?: string;
  /** Whether reports are sent automatically, within a minute. */
  readonly sends?: boolean;
  /** Whether a mistake, such as an invalid answer, throws an error. Only for tests: users would see the error. */
  readonly strict?: boolean;
  readonly clock?: () => number;
  readonly coins?: Coins;
  readonly fetch?: typeof globalThis.fetch;
  /** Returns a message that says why a collector cannot be used, from a status or an error thrown by `fetch`. */
  readonly explain?: (failure: unknown, hasKey: boolean) => string;
  /** Runs a task unless the same task runs in another tab. */
  readonly alone?: (task: () => Promise<Flushed>) => Promise<Flushed>;
}

/**
 * The period in which a report is sent at a random time. The arrival then does not reveal when the user did something.
 */
const SPREAD_MS = 60_000;

/** The maximum size of a response, as in the Python SDK. A collector's response is far smaller. */
const MOST_REPLY_BYTES = 65_536;

const ADDRESS = /^https?:\/\/(?!\/)[^\s?#@\\]+$/;

/** An http address that would leave this machine without TLS. Node resolves app.localhost on the network. */
const PLAIN = /^http:\/\/(?!(localhost|127(\.\d+){3}|\[::1])([:/]|$))/i;

const NANOS = 1e9;

/**
 * How long a function passed to `provide` may take. For longer, even a flush holds back the report with the random
 * answer, because the function's result may replace this answer.
 */
const CALL_MS = 5_000;
const HELD_S = 7;

/** A timer of Node. After `unref`, it does not keep a program running. */
type Timer = { unref?: () => void };

/** A function that an app provides, and the timer for its next call. */
interface Provided {
  readonly metric: Metric;
  readonly answer: () => unknown;
  timer?: ReturnType<typeof setTimeout>;
}

/** The outcomes that count as losses. */
const LOST: readonly Recorded[] = ["out_of_budget", "first_window", "stopped", "expired"];

export class Telemetry<Answers = Record<string, unknown>, Counts extends string = string> {
  /** The problem with the storage or the clock. */
  #trouble: string | undefined;
  /** The problem with the latest upload. */
  #unsent: string | undefined;
  readonly #registry: CompiledRegistry<Answers, Counts>;
  readonly #options: Options;
  readonly #metrics = new Map<string, Metric>();
  readonly #coins: Coins;
  readonly #clock: () => number;
  #consent: Consent = false;
  /** The metrics that the user has not agreed to. The data of declined metrics is deleted. */
  #withheld: readonly string[] = [];
  #declined: readonly string[] = [];
  /** How often the app passed an invalid answer or an unknown name. Stored data must not reveal these numbers. */
  #mistakes: Record<string, number> = {};
  readonly #told = new Set<string>();
  readonly #provided = new Map<Metric, Provided>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** The earliest time, in Unix seconds, at which the timer fires. */
  #timedS = Infinity;

  constructor(registry: CompiledRegistry<Answers, Counts>, options: Options) {
    if (registry.format !== 1) throw new HearsayError("the registry is of another version; compile the registry again");
    if (!ADDRESS.test(options.collector) || (!options.allowPlainHttp && PLAIN.test(options.collector))) {
      throw new HearsayError(
        "collector must be an address such as https://example.com, or http:// with allowPlainHttp",
      );
    }
    for (const [name, { mechanism, kind }] of Object.entries(registry.metrics)) {
      if (registry.mechanisms[mechanism] && registry.kinds[kind]) continue;
      throw new HearsayError(`${name} is of another version; compile the registry again`);
    }
    registry.trial?.require(options.collector);
    this.#registry = registry;
    this.#options = options;
    this.#coins = options.coins ?? systemCoins();
    this.#clock = options.clock ?? (() => Date.now() / 1000);
    for (const variable in options.strata) {
      if (!registry.variables?.includes(variable)) {
        throw new HearsayError(`the registry has no public variable ${variable}`);
      }
    }
    const { consent = false } = options;
    this.consent = consent;
  }

  /** The latest problem with storage, clock or uploads, with advice; undefined without a problem. */
  get problem(): string | undefined {
    return this.#trouble ?? this.#unsent;
  }

  /**
   * The user's consent. Setting it to false stops all reports; `forget` also erases data.
   *
   * A new list of purposes drops the waiting reports that it does not cover, even if the consent is extended later.
   * The consent is null while telemetry is suppressed.
   */
  get consent(): Consent {
    return this.#consent;
  }

  set consent(given: Consent | Decision) {
    const { consent = given, withheld = [], undecided = [] } = Object(given) as Partial<Decision>;
    const agreesAnew = !this.#consent;
    this.#consent = consentOf(consent);
    this.#withheld = withheld;
    this.#declined = withheld.filter((name) => !undecided.includes(name));
    if (!this.#consent) return;
    // Store the agreement at once, in a single transaction, because a later transaction would undo what the user has
    // decided in another tab since then. If there is no ledger, nothing is stored and none is created.
    void this.#transact(() => undefined, agreesAnew).then(() => this.#provided.forEach((each) => void this.#call(each)));
  }

  /**
   * Perturb an answer, charge it and queue its report. The promise never rejects, unless this object is strict.
   *
   * A random answer replaces an answer outside the metric's domain. Neither the result nor a missing report then
   * reveals the mistake.
   */
  async record<Name extends keyof Answers & string>(name: Name, answer: Answers[Name]): Promise<Recorded> {
    const metric = this.#ready(name, answer);
    const { trial } = this.#registry;
    if (!(metric instanceof Metric)) return trial?.refused(name, metric) ?? metric;
    const symbol = metric.perturb(answer, this.#coins, () => this.#mistake("invalid", metric.mistake));
    const recorded = await this.#recording((state, nowS) => {
      const window = windowOf(metric.compiled.window, nowS);
      return this.#report(state, metric, symbol, window, Math.floor(nowS / DAY_S));
    });
    await trial?.recorded(this, metric, answer, symbol, recorded);
    return recorded;
  }

  /** Add to the count of the current window. The sum is reported after the window has ended. */
  async count(name: Counts, by = 1): Promise<Recorded> {
    const metric = this.#ready(name, by, true);
    if (!(metric instanceof Metric)) return metric;
    if (this.#registry.trial) return this.record(name as never, by as never); // as if the window ended with the first call
    const { compiled } = metric;
    const { consent, edition } = compiled;
    const added = metric.addend(by, this.#coins, () => this.#mistake("invalid", metric.mistake));
    return this.#recording((state, nowS) => {
      if (isStopped(state, { metric: name, edition: metric.edition })) return "stopped";
      const window = windowOf(compiled.window, nowS);
      if (compiled.expires! < dayText(window.firstDay)) return "expired"; // false if the question has no last day
      const none = { metric: name, edition, window: window.text, consent, count: 0 };
      if (keyOf(none) in state.done) return "already_recorded";
      let counted = state.counts.find((each) => keyOf(each) === keyOf(none));
      if (!counted) state.counts.push((counted = none));
      counted.count = Math.min(counted.count + added, compiled.domain.max!);
      return "counted";
    });
  }

  /**
   * Call a function for the answer to a metric, once in each window that needs an answer.
   *
   * Only the calendar decides when the function is called: immediately if the window has no report yet, and within six
   * hours after a later window begins, while a page or program runs. Only one of several tabs calls its function.
   *
   * Before the call, a report with a random answer is charged and queued. The report is sent within a minute whatever
   * the function does. If the function returns within five seconds, its return value replaces the random answer.
   *
   * Without consent, the function is not called. The promise resolves when the function has returned or no call is due.
   * It never rejects, unless this object is strict.
   */
  async provide<Name extends keyof Answers & string>(
    name: Name,
    answer: () => Answers[Name] | undefined | Promise<Answers[Name] | undefined>,
  ): Promise<void> {
    const metric = this.#metric(name);
    if (!metric) return void this.#mistake("unknown");
    if (this.#registry.trial) {
      if (!this.#takes(metric)) return this.#registry.trial.refused(name, this.#refusal);
      const given = await Promise.resolve().then(answer).catch(() => undefined);
      return void (await this.record(name, given as Answers[Name]));
    }
    clearTimeout(this.#provided.get(metric)?.timer);
    const provided: Provided = { metric, answer };
    this.#provided.set(metric, provided);
    await this.#call(provided);
  }

  /** Call a function if its metric is due; check again when the next window has begun, or in a day. */
  async #call(provided: Provided): Promise<void> {
    const { metric, answer } = provided;
    const { name, edition, compiled } = metric;
    const standIn = metric.perturb(undefined, this.#coins);
    let inS = 60;
    const key = await this.#transact((state, nowS) => {
      const window = windowOf(compiled.window, nowS);
      inS = Math.min(DAY_S, afterWindow(window.endDay, this.#coins) - nowS);
      const outcome = this.#report(state, metric, standIn, window, Math.floor(nowS / DAY_S), nowS + HELD_S);
      return outcome === "queued" && keyOf({ metric: name, edition, window: window.text });
    });
    clearTimeout(provided.timer);
    provided.timer = setTimeout(() => void this.#call(provided), inS * 1000);
    (provided.timer as Timer).unref?.();
    if (!String(key).includes(" ")) return; // not a report's key, but the outcome: why there is no report
    const symbol = await this.#answered(metric, answer);
    await this.#transact((state) => {
      state.queue = state.queue.map((each) => (keyOf(each) === key && !each.refused ? { ...each, symbol } : each));
    });
  }

  /** Return the symbol to report for the return value of a function, if it returns in time. */
  async #answered(metric: Metric, answer: () => unknown): Promise<number> {
    let returned: unknown;
    try {
      const late = new Promise((_, reject) => (setTimeout(reject, CALL_MS, new RangeError()) as Timer).unref?.());
      returned = await Promise.race([answer(), late]);
    } catch (error) {
      if (this.#options.strict) throw error;
      console.warn(`hearsay: the function that provides ${metric.name} failed: ${(error as object)?.constructor?.name}`);
      return metric.perturb(undefined, this.#coins);
    }
    return metric.perturb(returned, this.#coins, () => this.#mistake("invalid", metric.mistake));
  }

  /** Send the waiting reports now. */
  async flush(): Promise<Flushed> {
    return this.send(true);
  }

  /** Return the reports sent from this device and their outcomes, in words of a language; the newest is last. */
  async history(language = "en"): Promise<readonly HistoryEntry[]> {
    const say = this.sentences(language);
    return (await this.#look()).history.map((entry) => {
      const metric = entry.metric in this.#registry.metrics ? this.#metric(entry.metric) : undefined;
      return { ...entry, reported: metric?.means(entry.edition) ? metric.reported(entry.symbol, say) : undefined };
    });
  }

  /** Return the sentences for users in one of the registry's compiled languages. */
  sentences(language: string): Say {
    return sentencesIn(this.#registry, language);
  }

  /**
   * Return how many answers and reports were lost, by reason.
   *
   * `invalid` counts invalid answers, which were replaced by random answers. `unknown` counts unknown names, which were
   * ignored. Both count calls since this object was created.
   */
  async dropped(): Promise<Readonly<Record<string, number>>> {
    return { ...(await this.#look()).dropped, ...this.#mistakes };
  }

  /** Return the spent budget and the ceilings. */
  async budget(): Promise<BudgetStatus> {
    const { budget } = this.#registry;
    const state = await this.#look();
    const day = Math.floor(Math.max(this.#clock(), state.latestS) / DAY_S);
    return {
      window: windowOn(budget.window, day).text,
      windowSpent: Number(spentIn(state, budget.window, day)) / NANOS,
      windowCeiling: Number(budget.per_window) / NANOS,
      storageLifeSpent: Number(state.lifeNanos) / NANOS,
      storageLifeCeiling: Number(budget.lifetime) / NANOS,
    };
  }

  /** Opt out, and erase everything but the spent budget, in this and all other tabs. */
  async forget(): Promise<void> {
    this.consent = false;
    this.#mistakes = {};
    const { store } = this.#options;
    if (!(await store.exists())) return;
    await store.transact((state) => [state && { ...state, ...nothing(), optedOut: true }, undefined]);
  }

  /** Return the metric for a call, or the reason why nothing can be recorded, whatever the answer is. */
  #ready(name: string, answer: unknown, counts = false): Metric | Recorded {
    const { strict } = this.#options;
    if (!this.#consent && !strict) return this.#refusal;
    const metric = this.#metric(name);
    if (!metric) return this.#mistake("unknown");
    if (counts && !metric.compiled.persist) {
      return this.#mistake("unknown", new HearsayError(`${name} is not a count with persist = true; use record`));
    }
    if (strict && metric.encode(answer, systemCoins()) === undefined) throw metric.mistake;
    return this.#takes(metric) ? metric : this.#refusal;
  }

  #takes({ name, compiled }: Metric): boolean {
    return covers(this.#consent, compiled.consent) && !this.#withheld.includes(name);
  }

  get #refusal(): "no_consent" | "suppressed" {
    return this.#consent === SUPPRESSED ? "suppressed" : "no_consent";
  }

  /** Count a mistake of the app and log it once; if this object is strict, throw it. */
  #mistake(
    reason: "invalid" | "unknown",
    mistake: HearsayError = new UnknownMetricError(
      `the registry has no such metric; it has ${Object.keys(this.#registry.metrics).join(", ")}`,
    ),
  ): "unknown" {
    if (this.#options.strict) throw mistake;
    this.#mistakes[reason] = (this.#mistakes[reason] ?? 0) + 1;
    const { message } = mistake;
    if (!this.#told.has(message)) console.warn(`hearsay: ${message} (logged once; strict: true rejects)`);
    this.#told.add(message);
    return "unknown";
  }

  /** Return a metric by its name; undefined if the registry has none, or the name is not a text. */
  #metric(name: string): Metric | undefined {
    const known = this.#metrics.get(name);
    if (known) return known;
    const { metrics } = this.#registry;
    if (!Object.keys(metrics).includes(name)) return undefined;
    const metric = new Metric(name, metrics[name]!, this.#registry, this.#options.strata);
    this.#metrics.set(name, metric);
    return metric;
  }

  #report(state: State, metric: Metric, symbol: number, window: Window, day: number, releaseS?: number): Recorded {
    const { compiled, name, edition } = metric;
    const { consent } = compiled;
    if (!this.#takes(metric)) return this.#refusal;
    const report = { metric: name, edition, window: window.text, symbol, consent, releaseS };
    if (isStopped(state, report)) return "stopped";
    if (compiled.expires! < dayText(window.firstDay)) return "expired"; // false if the question has no last day
    const skipsFirst = this.#registry.target === "web" && !this.#registry.trial;
    const charged = charge(state, [name, compiled], window, day, this.#registry.budget, skipsFirst);
    if (charged !== "charged") return charged;
    enqueue(state, report);
    return "queued";
  }

  async #recording(work: (state: State, nowS: number) => Recorded): Promise<Recorded> {
    return this.#transact((state, nowS) => {
      const outcome = work(state, nowS);
      if (LOST.includes(outcome)) drop(state, outcome);
      return outcome;
    });
  }

  /**
   * Do the work that the calendar makes due, and then `work`, in one transaction. Without consent, no storage is
   * opened.
   */
  async #transact<T>(
    work: (state: State, nowS: number) => T,
    agreesAnew = false,
  ): Promise<T | "no_consent" | "suppressed" | "unavailable"> {
    if (!this.#consent) return this.#refusal;
    const agreed = this.#consent;
    try {
      return await this.#options.store.transact<T | "no_consent" | "suppressed" | "unavailable">((found) => {
        const clockS = this.#clock();
        const state = found ?? fresh(Math.floor(clockS / DAY_S));
        if (state.version !== 1) throw new HearsayError("it is of another version");
        if (agreesAnew) state.optedOut = false;
        if (state.optedOut || (agreesAnew && !found)) return [undefined, "no_consent"];
        const nowS = advance(state, clockS);
        if (nowS === undefined) {
          this.#trouble = "the clock is wrong or went back a day";
          return [undefined, "unavailable"];
        }
        this.#trouble = undefined;
        // delete what the user has withdrawn, even if the storage responds late or the user has changed their mind again
        this.#withdraw(state, agreed);
        if (!this.#consent) return [this.#consent === false ? state : undefined, this.#refusal];
        name(state, this.#registry);
        this.#reportCounts(state, nowS);
        const result = work(state, nowS);
        this.#sendFrom(dueS(state, nowS), nowS);
        return [state, result];
      });
    } catch (error) {
      const why = error instanceof HearsayError ? error.message : (error as Error).name;
      this.#trouble = `the storage cannot be used: ${why}`;
      return "unavailable";
    }
  }

  /**
   * Delete the data of the metrics that the user does not agree to.
   *
   * The purposes stored with the data decide, because this registry may lack the metric. An update may have removed the
   * metric, or another tab may have a later registry.
   */
  #withdraw(state: State, agreed: Consent): void {
    const isCovered = this.#coveredBy(agreed);
    state.counts = state.counts.filter(isCovered);
    state.queue = state.queue.filter(isCovered);
    state.history = state.history.filter(isCovered);
    state.sent = state.sent.filter(({ reports }) => reports.every(isCovered));
  }

  readonly #coveredBy = (agreed: Consent) => ({ metric, consent }: Purposed) =>
    covers(agreed, consent) && !this.#declined.includes(metric);

  /** Report the counts of ended windows, and charge the counts to the last days of their windows. */
  #reportCounts(state: State, nowS: number): void {
    for (const counted of state.counts) {
      const { metric: name, edition, count } = counted;
      const window = parseWindow(counted.window)!;
      const pastS = nowS - window.endDay * DAY_S;
      if (pastS < 0 || (pastS < GRACE_S && this.#withheld.includes(name))) continue;
      state.counts = state.counts.filter((other) => other !== counted);
      let outcome: Recorded = "expired";
      if (this.#registry.metrics[name]?.edition === edition && pastS < GRACE_S) {
        const metric = this.#metric(name)!;
        const symbol = metric.perturb(count, this.#coins);
        outcome = this.#report(state, metric, symbol, window, window.endDay - 1, afterWindow(window.endDay, this.#coins));
      }
      if (outcome !== "queued") drop(state, outcome);
    }
  }

  /** Return the state or, without a state, an empty one. This does not create a ledger. */
  async #look(): Promise<State> {
    const { store } = this.#options;
    return ((await store.exists()) && (await store.transact((state) => [undefined, state]))) || fresh(0);
  }

  /** Send waiting reports; if `hurried`, also send uploads again before their planned time. */
  protected async send(hurried: boolean): Promise<Flushed> {
    if (!this.#consent) return this.#refusal;
    const alone = this.#options.alone ?? ((task) => task());
    return alone(async () => {
      let result: Flushed = "nothing_waiting";
      for (;;) {
        const next = await this.#transact(
          (state, nowS) => nextUpload(state, nowS, this.#coins, hurried) ?? (isHeld(state) ? "not_due" : result),
        );
        if (typeof next === "string") return next === "not_due" && result === "refused" ? result : next;
        if (!next.reports.every(this.#coveredBy(this.#consent))) continue; // the user has withdrawn the consent
        const reply = await this.#post(encodeUpload({ upload: next.id, reports: next.reports }));
        const concluded = await this.#transact((state, nowS) => conclude(state, next.id, reply, nowS, this.#coins));
        await this.#registry.trial?.sent(this, next.reports);
        if (typeof concluded === "string") return concluded;
        const [outcome, refusal] = concluded;
        if (outcome === "waiting") {
          if (reply) this.#unsent = this.#explain(reply.status);
          return reply ? "refused" : "offline";
        }
        this.#unsent = refusal;
        if (outcome !== "noted" && result !== "refused") result = outcome;
      }
    }).catch(() => "unavailable"); // a sandboxed frame may not get a lock
  }

  async #post(body: string): Promise<Reply> {
    const { collector, fetch = globalThis.fetch, uploadKey } = this.#options;
    try {
      const response = await fetch(`${String(collector).replace(/\/+$/, "")}/v1/reports`, {
        method: "POST",
        body,
        headers: {
          "Content-Type": "application/json",
          ...(uploadKey && { Authorization: `Bearer ${uploadKey}` }),
        },
        keepalive: true, // continues while a page closes; an upload is far below the 64 KiB that browsers then allow
        credentials: "omit",
        referrerPolicy: "no-referrer",
        cache: "no-store",
        redirect: "error",
        signal: AbortSignal.timeout(TIMEOUT_S * 1000),
      });
      const { status, headers } = response;
      return { status, headers, body: await textOf(response) };
    } catch (error) {
      this.#unsent = this.#explain(error);
      return undefined; // no response, or one that is blocked, slow or too large: the same upload is sent again
    }
  }

  #explain(failure: unknown): string {
    return (this.#options.explain ?? explain)(failure, !!this.#options.uploadKey);
  }

  /** Set the timer to send within a minute after this time, unless it is already set for an earlier one. */
  #sendFrom(dueS: number, nowS: number): void {
    if (this.#options.sends === false || dueS >= this.#timedS) return;
    this.#timedS = dueS;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#timedS = Infinity;
        // the transaction sets the timer again, even if another tab sends and is closed
        void this.#transact(() => undefined).then(() => this.send(false));
      },
      (dueS - nowS) * 1000 + pick(this.#coins, SPREAD_MS),
    );
    (this.#timer as Timer).unref?.();
  }
}

/** Return the body of a response; throw an error if it is longer than any response of a collector. */
function textOf({ body }: Response): Promise<string> {
  let left = MOST_REPLY_BYTES;
  const bounded = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      left -= chunk.length;
      if (left < 0) controller.error();
      else controller.enqueue(chunk);
    },
  });
  return new Response(body?.pipeThrough(bounded)).text();
}
