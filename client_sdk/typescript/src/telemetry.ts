/** The object that an app holds. */

import { pick, systemCoins, type Coins } from "./coins.js";
import type { CompiledRegistry } from "./compiled.js";
import { consentOf, covers, type Consent } from "./consent.js";
import { HearsayError, UnknownMetricError } from "./errors.js";
import type { HistoryEntry } from "./history.js";
import { advance, charge, spentIn } from "./ledger.js";
import { Metric, type Strata } from "./metric.js";
import { afterWindow, conclude, dueS, enqueue, nextUpload, type Reply } from "./outbox.js";
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
  /** The collector has stopped this question for all devices. */
  | "stopped"
  | "expired"
  /** The registry has no such question, or it is no count. */
  | "unknown"
  /** Storage, clock or frame cannot be used: `problem` says why. */
  | "unavailable";

/** How a flush ended: whether reports still wait. */
export type Flushed = "sent" | "nothing_waiting" | "waiting" | "rejected" | "no_consent" | "unavailable";

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
  /** What the user has agreed to: everything, or purposes such as `["usage"]`. Nothing is stored or sent before. */
  readonly consent?: Consent;
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
  /** Runs a task unless the same task runs in another tab. */
  readonly alone?: (task: () => Promise<Flushed>) => Promise<Flushed>;
}

const TIMEOUT_MS = 20_000;

/** Reports leave at a random instant within a minute, so that it does not tell when the user did something. */
const SPREAD_MS = 60_000;

/** As large as an upload, as in the Python SDK. A collector's answer is far smaller. */
const MOST_REPLY_BYTES = 65_536;

const ADDRESS = /^https?:\/\/(?!\/)[^\s?#@\\]+$/;

/** An address that may leave this machine without TLS. Node asks the network's name server for app.localhost. */
const PLAIN = /^http:\/\/(?!(localhost|127(\.\d+){3}|\[::1])([:/]|$))/i;

const NANOS = 1e9;

/** What becomes of answers that are lost, and counted. */
const LOST: readonly Recorded[] = ["out_of_budget", "first_window", "stopped", "expired"];

export class Telemetry<Answers = Record<string, unknown>, Counts extends string = string> {
  /** Why nothing can be recorded at the moment, in words; undefined if nothing is wrong. */
  problem: string | undefined;

  /** The status or error with which the latest upload got no verdict; undefined if it got one. See `explain`. */
  failure: unknown;

  readonly #registry: CompiledRegistry<Answers, Counts>;
  readonly #options: Options;
  readonly #metrics = new Map<string, Metric>();
  readonly #coins: Coins;
  readonly #clock: () => number;
  #consent: Consent = false;
  /** How often the app gave an invalid answer or an unknown name. The store must not tell of it. */
  #mistakes: Record<string, number> = {};
  readonly #told = new Set<string>();
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
    this.#clock = options.clock ?? (() => Date.now() / 1000);
    for (const variable in options.strata) {
      if (!registry.variables?.includes(variable)) {
        throw new HearsayError(`the registry has no public variable ${variable}`);
      }
    }
    this.consent = options.consent ?? false;
  }

  /**
   * What the user has agreed to. Setting it to false stops everything; `forget` also erases.
   *
   * What waits of a purpose that is not in a new list is dropped, whatever it is set to next.
   */
  get consent(): Consent {
    return this.#consent;
  }

  set consent(consent: Consent) {
    const agreesAnew = !this.#consent;
    this.#consent = consentOf(consent);
    if (!this.#consent) return;
    // An agreement is noted at once, in this one transaction: a later one would undo what another tab has been told
    // since. Without a ledger there is nothing to note, and none is made.
    void this.#transact(() => undefined, agreesAnew);
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
    if (!this.#consent && !strict) return "no_consent";
    const metric = this.#metric(name);
    const names = Object.keys(this.#registry.metrics).join(", ");
    if (!metric) return this.#mistake("unknown", new UnknownMetricError(`the registry has no such metric; it has ${names}`));
    if (counts && !metric.compiled.persist) {
      return this.#mistake("unknown", new HearsayError(`${name} is no count with persist = true; use record`));
    }
    if (strict && metric.encode(answer, systemCoins()) === undefined) throw metric.mistake;
    return covers(this.#consent, metric.compiled.consent) ? metric : "no_consent";
  }

  /** Count a mistake of the app and tell of it once; if this is strict, throw it. */
  #mistake(reason: "invalid" | "unknown", mistake: HearsayError): "unknown" {
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
    if (!covers(this.#consent, consent)) return "no_consent";
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
  ): Promise<T | "no_consent" | "unavailable"> {
    if (!this.#consent) return "no_consent";
    const agreed = this.#consent;
    try {
      return await this.#options.store.transact<T | "no_consent" | "unavailable">((found) => {
        const clockS = this.#clock();
        const state = found ?? fresh(Math.floor(clockS / DAY_S));
        if (state.version !== 1) throw new HearsayError("it is of another version");
        if (agreesAnew) state.optedOut = false;
        if (state.optedOut || (agreesAnew && !found)) return [undefined, "no_consent"];
        const nowS = advance(state, clockS);
        if (nowS === undefined) {
          this.problem = "the clock is absurd, or went back a day";
          return [undefined, "unavailable"];
        }
        this.problem = undefined;
        // What was left out is dropped, however late the storage answers, and whatever the user has said meanwhile.
        this.#withdraw(state, agreed);
        if (!this.#consent) return [state, "no_consent"];
        name(state, this.#registry);
        this.#reportCounts(state, nowS);
        const result = work(state, nowS);
        this.#sendFrom(dueS(state, nowS), nowS);
        return [state, result];
      });
    } catch (error) {
      const why = error instanceof HearsayError ? error.message : (error as Error).name;
      this.problem = `the storage cannot be used: ${why}`;
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
    if (!state.sent?.reports.every(isCovered)) delete state.sent;
  }

  readonly #coveredBy = (agreed: Consent) => ({ consent }: Purposed) => covers(agreed, consent);

  /** Report the counts whose window has ended; they are paid for on its last day. */
  #reportCounts(state: State, nowS: number): void {
    for (const counted of state.counts) {
      const { metric: name, edition, count } = counted;
      const window = parseWindow(counted.window)!;
      const pastS = nowS - window.endDay * DAY_S;
      if (pastS < 0) continue;
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
    if (!this.#consent) return "no_consent";
    const alone = this.#options.alone ?? ((task) => task());
    return alone(async () => {
      let result: Flushed = "nothing_waiting";
      for (;;) {
        const next = await this.#transact((state, nowS) => nextUpload(state, nowS, this.#coins, hurried));
        if (typeof next === "string") return next;
        if (!next) return result;
        if (!next.reports.every(this.#coveredBy(this.#consent))) continue; // the user took an agreement back meanwhile
        const reply = await this.#post(encodeUpload({ upload: next.id, reports: next.reports }));
        const outcome = await this.#transact((state, nowS) => conclude(state, next.id, reply, nowS, this.#coins));
        if (reply) this.failure = outcome === "waiting" ? reply.status : undefined;
        await this.#registry.trial?.sent(this, next.reports);
        if (outcome !== "sent" && outcome !== "rejected") return outcome;
        result = outcome;
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
        signal: AbortSignal.timeout(TIMEOUT_MS),
      });
      const { status, headers } = response;
      return { status, headers, body: await textOf(response) };
    } catch (error) {
      this.failure = error;
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
    (this.#timer as { unref?: () => void }).unref?.();
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
