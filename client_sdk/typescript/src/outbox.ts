/** Decides what to send, with pure functions on a state. The caller sends the uploads. */

import { COIN_SCALE, pick, type Coins } from "./coins.js";
import { drop, keep, keyOf, type Sent, type State, type Waiting } from "./state.js";
import { STOPPED, decodeStopped, stop } from "./stops.js";
import { DAY_S, GRACE_S, parseWindow } from "./window.js";
import { REFUSALS, decodeVerdict, reportOf } from "./wire.js";

/** The maximum number of reports in an upload. Even with the longest names, a closing page may send far more. */
const MOST_REPORTS = 64;

/** The maximum number of reports in the queue. A longer queue is a sign of an error, and must not fill the disk. */
const MOST_WAITING = 1000;

/** A report that waits for the end of its window is sent at a random time in the six hours after the end. */
const RELEASE_SPREAD_S = 6 * 3600;

/** How long a request may take, in seconds. */
export const TIMEOUT_S = 20;

/**
 * The maximum wait between an upload and the retry of another upload, so that the collector cannot link the two. A
 * flush does not wait.
 */
const APART_S = 900;

const HOUR_S = 3600;

/**
 * The number of attempts after which an upload with closed windows is given up. With the back-off, these attempts take
 * over a day.
 */
const MOST_ATTEMPTS = 40;

/**
 * The maximum number of times that a temporarily refused report is sent again, as in the Python SDK. Each attempt is at
 * a random time in an upload of its own. Otherwise, the collector could link the report to other uploads or reports of
 * the same device.
 */
const MOST_ALONE = 4;

/** Statuses with which a collector rejects the same bytes forever. */
const FINAL = [400, 413, 415, 422];

/** An HTTP response; undefined if there was none. */
export type Reply =
  | {
      readonly status: number;
      readonly headers: Pick<Headers, "get">;
      readonly body: string;
    }
  | undefined;

/**
 * The outcome of an upload: `refused` if some reports were not counted, `noted` if another tab has already stored the
 * outcome.
 */
export type Outcome = "sent" | "refused" | "waiting" | "noted";

/** Put a report into the queue. */
export function enqueue(state: State, report: Waiting): void {
  if (state.queue.push(report) > MOST_WAITING) drop(state, "queue_full", state.queue.splice(0, 1).length);
}

/** Return a random time in the six hours after the end of a window. */
export function afterWindow(endDay: number, coins: Coins): number {
  return endDay * DAY_S + pick(coins, RELEASE_SPREAD_S);
}

/**
 * Return the upload to send now: a new upload or, if no report is new, an earlier upload that got no response.
 *
 * No response to an upload affects when another upload is sent. Only reports of metrics with the same purposes share an
 * upload, so that withdrawing a purpose does not delete reports of other purposes.
 */
export function nextUpload(state: State, nowS: number, coins: Coins, hurried: boolean): Sent | undefined {
  keep(state, isOpen(nowS), "window_closed");
  const due = state.queue.filter((report) => !(report.releaseS! > nowS)); // without releaseS, a report is due at once
  const fit = shuffled(due.filter((report) => !report.refused), coins);
  const together = fit.filter(({ consent }) => String(consent) === String(fit[0]!.consent));
  const taken = fit[0] ? together.slice(0, MOST_REPORTS) : due.slice(0, 1); // a refused report is sent alone
  let sent = state.sent.find(({ pausedS, releaseS }) => nowS >= (hurried ? pausedS : releaseS));
  state.queue = state.queue.filter((report) => !taken.includes(report));
  for (const each of taken) {
    if (!each.refused) state.history.push({ ...reportOf(each), consent: each.consent, outcome: "unanswered" });
  }
  const word = () => coins.below(COIN_SCALE).toString(16).padStart(16, "0");
  if (taken[0]) state.sent.push((sent = { id: word() + word(), reports: taken, failures: 0, pausedS: 0, releaseS: 0 }));
  if (sent) sent.releaseS = nowS + TIMEOUT_S;
  return sent;
}

function endS(window: string): number {
  return parseWindow(window)!.endDay * DAY_S;
}

const isOpen = (nowS: number) => ({ window }: Waiting): boolean => nowS < endS(window) + GRACE_S;

/** Whether a report or an upload waits for any other reason than the end of its window. */
export function isHeld({ sent, queue }: State): boolean {
  return sent.length > 0 || queue.some(({ refused, releaseS = 0, window }) => refused || releaseS < endS(window));
}

/**
 * Return when to look again for something to send. This is within a day, because of counts and of other tabs' reports.
 */
export function dueS({ sent, queue }: State, nowS: number): number {
  const leaving = [...sent, ...queue].map(({ releaseS = 0 }) => releaseS);
  return Math.max(nowS, Math.min(nowS + DAY_S, ...leaving));
}

/**
 * Store the outcome of an upload, unless another tab has done so. Return the outcome, and the reason for a refusal.
 *
 * Only a valid verdict can stop metrics, because any other response may come from another server on the way.
 */
export function conclude(
  state: State,
  id: string,
  reply: Reply,
  nowS: number,
  coins: Coins,
): readonly [Outcome, string?] {
  const sent = state.sent.find((each) => each.id === id);
  if (!sent) return ["noted"];
  state.sent = state.sent.filter((each) => each !== sent);
  for (const each of state.sent) each.releaseS = Math.max(each.releaseS, nowS + pick(coins, APART_S));
  const refused = reply?.status === 200 ? attempt(() => decodeVerdict(reply.body, sent.reports.length)) : undefined;
  const isRejected =
    reply &&
    FINAL.includes(reply.status) &&
    attempt(() => {
      const { status, code } = JSON.parse(reply.body) as { status?: unknown; code?: unknown };
      return status === reply.status && typeof code === "string"; // a problem document (RFC 9457): only collectors send these
    });
  if (refused || isRejected) {
    const others = refused ? "accepted" : "rejected";
    sent.reports.forEach((report, index) => {
      settle(state, report, refused?.find((each) => each.index === index)?.code ?? others, nowS, coins);
    });
    if (!refused) return ["refused", `the collector rejected an upload with status ${reply!.status}. The reports are lost. Is the collector too old?`];
    stop(state, decodeStopped(reply!.headers.get(STOPPED)));
    return refused[0] ? ["refused", `the collector refused a report: ${refused[0].code}`] : ["sent"];
  }
  sent.pausedS = nowS + retryAfterS(reply);
  sent.releaseS = sent.pausedS + pick(coins, 1 + Math.min(HOUR_S, 2 ** sent.failures++));
  if (sent.failures < MOST_ATTEMPTS || sent.reports.some(isOpen(nowS))) state.sent.push(sent);
  else drop(state, "unanswered", sent.reports.length);
  return ["waiting"];
}

/** Store the outcome of a report. If it may be accepted later, queue it again, to be sent within a day. */
function settle(state: State, report: Waiting, outcome: string, nowS: number, coins: Coins): void {
  const entry = state.history.find((each) => keyOf(each) === keyOf(report));
  if (entry) entry.outcome = outcome;
  if (outcome === "accepted") return;
  const { refused = 0 } = report;
  if (!REFUSALS[outcome] || refused === MOST_ALONE) return drop(state, outcome);
  enqueue(state, { ...report, refused: refused + 1, releaseS: nowS + pick(coins, DAY_S) });
}

/** Remove all items, in random order. */
function shuffled<T>(left: T[], coins: Coins): T[] {
  const drawn: T[] = [];
  while (left.length) drawn.push(...left.splice(pick(coins, left.length), 1));
  return drawn;
}

/** Return the result of `read`, which parses a body; undefined if it fails. Another server may have responded. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Return the seconds, up to an hour, that a response requests to wait; 0 for a date. */
function retryAfterS(reply: Reply): number {
  const digits = /^\d+$/.exec(reply?.headers.get("Retry-After") as string); // "undefined" and "null" are not digits
  return Math.min(Number(digits), HOUR_S); // 0 for null
}
