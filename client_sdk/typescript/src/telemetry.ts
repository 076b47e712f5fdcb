/** The object that an app holds. */

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

/** What became of an answer. The app may ignore it. */
export type Recorded =
  | "queued"
  | "counted"
  | "already_recorded"
  | "out_of_budget"
  /** The ledger is new: what was spent in this window before a wipe is not known. */
  | "first_window"
  | "no_consent"
  /** The environment or the machine suppresses telemetry. */
  | "suppressed"
  /** The collector has stopped this question for all devices. */
  | "stopped"
  | "expired"
  /** The registry has no such question, or it is no count. */
  | "unknown"
  /** Storage, clock or frame cannot be used: `problem` says why. */
  | "unavailable";

/** How a flush ended, in the words of the SDK in Python; `problem` says more. */
export type Flushed =
  /** The collector has counted all that waited. */
  | "sent"
  /** Nothing waited, other than for its window to end. */
  | "nothing_waiting"
  /** What still waits has its time later, or another tab is sending. */
  | "not_due"
  /** The collector did not answer, or does not allow the page's origin; what waits is sent again later. */
  | "offline"
  /** The collector's address answered, but did not take everything. */
  | "refused"
  | "no_consent"
  | "suppressed"
  | "unavailable";

/** What is spent and what may be, in epsilon. */
export interface BudgetStatus {
  readonly window: string;
  readonly windowSpent: number;
  readonly windowCeiling: number;
  readonly storageLifeSpent: number;
  readonly storageLifeCeiling: number;
}

/** What the host gives. Everything but registry, collector and store has a default. */
export interface Options {
  /** The collector's base address, such as https://telemetry.example.com. */
  readonly collector: string;
  readonly store: Store;
  /**
   * Whether `collector` may be an http:// address of another machine. Anybody on the way can then read reports and key,
   * and answer in the collector's name: this is for networks of your own.
   */
  readonly allowPlainHttp?: boolean;
  /**
   * What the user has agreed to: everything, or purposes such as `["usage"]`; or what `ask` or `current` of the consent
   * kit decides. Nothing is stored or sent before.
   */
  readonly consent?: Consent | Decision;
  /** This device's values of the registry's public variables. They are sent in the clear. */
  readonly strata?: Strata;
  /** The secret of an upload key, if the collector asks for one. */
  readonly uploadKey?: string;
  /** Whether reports leave by themselves, within a minute. */
  readonly sends?: boolean;
  /** Whether a mistake of the app rejects, such as an invalid answer. For tests: to users it would tell of the answer. */
  readonly strict?: boolean;
  readonly clock?: () => number;
  readonly coins?: Coins;
  readonly fetch?: typeof globalThis.fetch;
  /** Says why a collector cannot be used, of a status or an error of fetch. */
  readonly explain?: (failure: unknown) => string;
  /** Runs a task unless the same task runs in another tab. */
  readonly alone?: (task: () => Promise<Flushed>) => Promise<Flushed>;
}

/** Reports leave at a random instant within a minute, so that it does not tell when the user did something. */
const SPREAD_MS = 60_000;

/** As large as an upload, as in the Python SDK. A collector's answer is far smaller. */
const MOST_REPLY_BYTES = 65_536;

const ADDRESS = /^https?:\/\/(?!\/)[^\s?#@\\]+$/;

/** An address that may leave this machine without TLS. Node asks the network's name server for app.localhost. */
const PLAIN = /^http:\/\/(?!(localhost|127(\.\d+){3}|\[::1])([:/]|$))/i;

const NANOS = 1e9;

/** How long a function that an app provides may take, and for how long no flush sends what stands for its answer. */
const CALL_MS = 5_000;
const HELD_S = 7;

/** A timer of Node's, which need not keep a program running. */
type Timer = { unref?: () => void };

/** A function that an app provides, and the timer of its next call. */
interface Provided {
  readonly metric: Metric;
  readonly answer: () => unknown;
  timer?: ReturnType<typeof setTimeout>;
}

/** What becomes of answers that are lost, and counted. */
const LOST: readonly Recorded[] = ["out_of_budget", "first_window", "stopped", "expired"];

export class Telemetry<Answers = Record<string, unknown>, Counts extends string = string> {
  /** What is wrong with the storage or the clock. */
  #trouble: string | undefined;
  /** What was wrong at the latest upload. */
  #unsent: string | undefined;
  readonly #registry: CompiledRegistry<Answers, Counts>;
  readonly #options: Options;
  readonly #metrics = new Map<string, Metric>();
  readonly #coins: Coins;
  readonly #explain: (failure: unknown) => string;
  readonly #clock: () => number;
  #consent: Consent = false;
  /** The questions that the user has not agreed to, and those among them that were declined: what they left goes. */
  #withheld: readonly string[] = [];
  #declined: readonly string[] = [];
  /** How often the app gave an invalid answer or an unknown name. The store must not tell of it. */
  #mistakes: Record<string, number> = {};
  readonly #told = new Set<string>();
  readonly #provided = new Map<Metric, Provided>();
  #timer: ReturnType<typeof setTimeout> | undefined;
  /** Since when, in Unix seconds, the timer has something to send. */
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
    this.#explain = options.explain ?? explain;
    this.#clock = options.clock ?? (() => Date.now() / 1000);
    for (const variable in options.strata) {
      if (!registry.variables?.includes(variable)) {
        throw new HearsayError(`the registry has no public variable ${variable}`);
      }
    }
    const { consent = false } = options;
    this.consent = consent;
  }

  /** What went wrong at the latest use or upload, and what to do; undefined if nothing did. */
  get problem(): string | undefined {
    return this.#trouble ?? this.#unsent;
  }

  /**
   * What the user has agreed to. Setting it to false stops everything; `forget` also erases.
   *
   * What waits of a purpose that is not in a new list is dropped, whatever it is set to next. It is null while telemetry
   * is suppressed.
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
    // An agreement is noted at once, in this one transaction: a later one would undo what another tab has been told
    // since. Without a ledger there is nothing to note, and none is made.
    void this.#transact(() => undefined, agreesAnew).then(() => this.#provided.forEach((each) => void this.#call(each)));
  }

  /**
   * Perturb an answer, charge it and queue its report. It never rejects, unless this is strict.
   *
   * An answer outside the question's domain is replaced by a random one: neither the result nor a missing report
   * tells of it.
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

  /** Add to the count of the present window, which is reported when the window has ended. */
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
      if (compiled.expires! < dayText(window.firstDay)) return "expired"; // not if it has no last day
      const none = { metric: name, edition, window: window.text, consent, count: 0 };
      if (keyOf(none) in state.done) return "already_recorded";
      let counted = state.counts.find((each) => keyOf(each) === keyOf(none));
      if (!counted) state.counts.push((counted = none));
      counted.count = Math.min(counted.count + added, compiled.domain.max!);
      return "counted";
    });
  }

  /**
   * Call a function for the answer to a question, once in each window in which it is due.
   *
   * The calendar fixes when: at once if the window lacks its report, and within six hours after a later window has
   * begun, while a page or program runs. Of several tabs one calls. A report of a random answer is charged and queued
   * before, and leaves within a minute whatever the function does; what it returns within five seconds takes the place
   * of the random answer. It is not called without consent. The promise is kept when the function has answered, or is
   * not due; it is never broken, unless this is strict.
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

  /** Call a function if its question is due; look again when the next window has begun, or in a day. */
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
    if (!String(key).includes(" ")) return; // it is no key of a report, but says why there is none
    const symbol = await this.#answered(metric, answer);
    await this.#transact((state) => {
      state.queue = state.queue.map((each) => (keyOf(each) === key && !each.refused ? { ...each, symbol } : each));
    });
  }

  /** Return what is to be reported for what a function returns in time. */
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

  /** Send what waits, now. */
  async flush(): Promise<Flushed> {
    return this.send(true);
  }

  /** Return what left this device, in words of a language, and what became of it; the newest last. */
  async history(language = "en"): Promise<readonly HistoryEntry[]> {
    const say = this.sentences(language);
    return (await this.#look()).history.map((entry) => {
      const metric = entry.metric in this.#registry.metrics ? this.#metric(entry.metric) : undefined;
      return { ...entry, reported: metric?.means(entry.edition) ? metric.reported(entry.symbol, say) : undefined };
    });
  }

  /** Return the sentences for users in a language that the registry was compiled with. */
  sentences(language: string): Say {
    return sentencesIn(this.#registry, language);
  }

  /**
   * Return how many answers and reports were lost, by reason.
   *
   * `invalid` answers were replaced, and `unknown` names left alone, since this object was made.
   */
  async dropped(): Promise<Readonly<Record<string, number>>> {
    return { ...(await this.#look()).dropped, ...this.#mistakes };
  }

  /** Return what is spent and what may be. */
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

  /** Opt out and erase everything but what was spent, in this and all other tabs. */
  async forget(): Promise<void> {
    this.consent = false;
    this.#mistakes = {};
    const { store } = this.#options;
    if (!(await store.exists())) return;
    await store.transact((state) => [state && { ...state, ...nothing(), optedOut: true }, undefined]);
  }

  /** Return the question of a call; or why nothing is recorded, whatever the answer is. */
  #ready(name: string, answer: unknown, counts = false): Metric | Recorded {
    const { strict } = this.#options;
    if (!this.#consent && !strict) return this.#refusal;
    const metric = this.#metric(name);
    if (!metric) return this.#mistake("unknown");
    if (counts && !metric.compiled.persist) {
      return this.#mistake("unknown", new HearsayError(`${name} is no count with persist = true; use record`));
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

  /** Count a mistake of the app and tell of it once; if this is strict, throw it. */
  #mistake(
    reason: "invalid" | "unknown",
    mistake: HearsayError = new UnknownMetricError(
      `the registry has no such metric; it has ${Object.keys(this.#registry.metrics).join(", ")}`,
    ),
  ): "unknown" {
    if (this.#options.strict) throw mistake;
    this.#mistakes[reason] = (this.#mistakes[reason] ?? 0) + 1;
    const { message } = mistake;
    if (!this.#told.has(message)) console.warn(`hearsay: ${message} (said once; strict: true rejects)`);
    this.#told.add(message);
    return "unknown";
  }

  /** Return a question by its name; undefined if the registry has none, as for what is no name. */
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
    if (compiled.expires! < dayText(window.firstDay)) return "expired"; // not if it has no last day
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

  /** Do what is due and then the work, in one transaction; without consent nothing is opened. */
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
          this.#trouble = "the clock is absurd, or went back a day";
          return [undefined, "unavailable"];
        }
        this.#trouble = undefined;
        // What was left out is dropped, however late the storage answers, and whatever the user has said meanwhile.
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
   * Delete all that is left of the questions that the user does not agree to, beside others.
   *
   * Each goes by the purposes that it had: this registry may lack the question, because an update has ended it, or
   * because another tab has a later registry.
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

  /** Report the counts whose window has ended; they are paid for on its last day. */
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

  /** Return the state, or what is known without one: looking makes none. */
  async #look(): Promise<State> {
    const { store } = this.#options;
    return ((await store.exists()) && (await store.transact((state) => [undefined, state]))) || fresh(0);
  }

  /** Send what waits; unless hurried, only what is not to be sent again later. */
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
        if (!next.reports.every(this.#coveredBy(this.#consent))) continue; // the user took an agreement back meanwhile
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
    }).catch(() => "unavailable"); // a sandboxed frame may take no lock
  }

  async #post(body: string): Promise<Reply> {
    const { collector, fetch = globalThis.fetch, uploadKey } = this.#options;
    try {
      const response = await fetch(`${String(collector).replace(/\/+$/, "")}/v1/reports`, {
        method: "POST",
        body,
        headers: {
          "Content-Type": "application/json",
          ...(uploadKey !== undefined && { Authorization: `Bearer ${uploadKey}` }),
        },
        keepalive: true, // even while a page closes; an upload is far below the 64 KiB that browsers allow then
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
      return undefined; // offline, refused, too slow or too long: the same upload is sent again
    }
  }

  /** Send within a minute after an instant, or after an earlier one that was named before. */
  #sendFrom(dueS: number, nowS: number): void {
    if (this.#options.sends === false || dueS >= this.#timedS) return;
    this.#timedS = dueS;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(
      () => {
        this.#timedS = Infinity;
        // the transaction sets the timer again, also if another tab sends and is closed
        void this.#transact(() => undefined).then(() => this.send(false));
      },
      (dueS - nowS) * 1000 + pick(this.#coins, SPREAD_MS),
    );
    (this.#timer as Timer).unref?.();
  }
}

/** Return the body of a reply; a longer one than any collector's is given up. */
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
