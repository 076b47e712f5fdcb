/** What leaves: pure decisions on a state. The caller sends. */

import { COIN_SCALE, pick, type Coins } from "./coins.js";
import { drop, keep, keyOf, type Sent, type State, type Waiting } from "./state.js";
import { STOPPED, decodeStopped, stop } from "./stops.js";
import { DAY_S, GRACE_S, parseWindow } from "./window.js";
import { REFUSALS, decodeVerdict, reportOf } from "./wire.js";

/** Reports of one upload: 64 with the longest names stay far below what a page may send while it closes. */
const MOST_REPORTS = 64;

/** Reports in the queue. More mean that something is wrong, and the host's disk must not pay for it. */
const MOST_WAITING = 1000;

/** Reports that wait for the end of their window leave within six hours after it, at random. */
const RELEASE_SPREAD_S = 6 * 3600;

/** How long a request may take, in seconds. */
export const TIMEOUT_S = 20;

/** Without a flush, an upload leaves again within a quarter of an hour after another one, which a resend would link to it. */
const APART_S = 900;

const HOUR_S = 3600;

/** The attempts after which an upload is given up once its windows have closed. With the back-off they take over a day. */
const MOST_ATTEMPTS = 40;

/**
 * How often a report that was refused for now is sent again, as the Python SDK does: alone, and at times of its own. An
 * answer would otherwise say when it comes, and two uploads would show the same device.
 */
const MOST_ALONE = 4;

/** Statuses with which a collector says that the same bytes will never be accepted. */
const FINAL = [400, 413, 415, 422];

/** A reply over HTTP; undefined if nothing came back. */
export type Reply =
  | {
      readonly status: number;
      readonly headers: Pick<Headers, "get">;
      readonly body: string;
    }
  | undefined;

/** What an upload's reply comes to: `refused` if not every report was counted, `noted` if another tab was first. */
export type Outcome = "sent" | "refused" | "waiting" | "noted";

/** Put a report into the queue. */
export function enqueue(state: State, report: Waiting): void {
  if (state.queue.push(report) > MOST_WAITING) drop(state, "queue_full", state.queue.splice(0, 1).length);
}

/** Return an instant within the hours after the end of a window. */
export function afterWindow(endDay: number, coins: Coins): number {
  return endDay * DAY_S + pick(coins, RELEASE_SPREAD_S);
}

/**
 * Return the upload that is to be sent now: a new one, or else one whose answer never came.
 *
 * No answer to an upload decides when another one leaves. Reports of one group travel together: those of questions with
 * the same purposes, so that withdrawing one of them takes no other report along.
 */
export function nextUpload(state: State, nowS: number, coins: Coins, hurried: boolean): Sent | undefined {
  keep(state, isOpen(nowS), "window_closed");
  const due = state.queue.filter((report) => !(report.releaseS! > nowS)); // or whenever it may
  const fit = shuffled(due.filter((report) => !report.refused), coins);
  const together = fit.filter(({ consent }) => String(consent) === String(fit[0]!.consent));
  const taken = fit[0] ? together.slice(0, MOST_REPORTS) : due.slice(0, 1); // what was refused travels alone
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

/** Whether something that is not due waits for another time than the end of its window. */
export function isHeld({ sent, queue }: State): boolean {
  return sent.length > 0 || queue.some(({ refused, releaseS = 0, window }) => refused || releaseS < endS(window));
}

/** Return the instant from which something is to be sent; in a day at the latest, for counts and what other tabs leave. */
export function dueS({ sent, queue }: State, nowS: number): number {
  const leaving = [...sent, ...queue].map(({ releaseS = 0 }) => releaseS);
  return Math.max(nowS, Math.min(nowS + DAY_S, ...leaving));
}

/**
 * Note the answer to an upload; return what it comes to, and why it was refused. Another tab may have noted it before.
 *
 * A whole verdict may also stop questions. Any other answer may come from somebody in between, and stops none.
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
      return status === reply.status && typeof code === "string"; // a problem document (RFC 9457), as only a collector sends
    });
  if (refused || isRejected) {
    const others = refused ? "accepted" : "rejected";
    sent.reports.forEach((report, index) => {
      settle(state, report, refused?.find((each) => each.index === index)?.code ?? others, nowS, coins);
    });
    if (!refused) return ["refused", `the collector rejected an upload with status ${reply!.status}, and its reports are lost: is it older than this SDK?`];
    stop(state, decodeStopped(reply!.headers.get(STOPPED)));
    return refused[0] ? ["refused", `the collector refused a report: ${refused[0].code}`] : ["sent"];
  }
  sent.pausedS = nowS + retryAfterS(reply);
  sent.releaseS = sent.pausedS + pick(coins, 1 + Math.min(HOUR_S, 2 ** sent.failures++));
  if (sent.failures < MOST_ATTEMPTS || sent.reports.some(isOpen(nowS))) state.sent.push(sent);
  else drop(state, "unanswered", sent.reports.length);
  return ["waiting"];
}

/** Note what became of a report; one that may be accepted later waits again, for a day at most. */
function settle(state: State, report: Waiting, outcome: string, nowS: number, coins: Coins): void {
  const entry = state.history.find((each) => keyOf(each) === keyOf(report));
  if (entry) entry.outcome = outcome;
  if (outcome === "accepted") return;
  const { refused = 0 } = report;
  if (!REFUSALS[outcome] || refused === MOST_ALONE) return drop(state, outcome);
  enqueue(state, { ...report, refused: refused + 1, releaseS: nowS + pick(coins, DAY_S) });
}

/** Take all items out, in random order. */
function shuffled<T>(left: T[], coins: Coins): T[] {
  const drawn: T[] = [];
  while (left.length) drawn.push(...left.splice(pick(coins, left.length), 1));
  return drawn;
}

/** Return what reading a body gives; undefined if it cannot be read: somebody in between may have answered. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined;
  }
}

/** Return the seconds that a reply asks to wait, at most an hour; a date counts as nothing. */
function retryAfterS(reply: Reply): number {
  const digits = /^\d+$/.exec(reply?.headers.get("Retry-After") as string); // neither undefined nor null is digits
  return Math.min(Number(digits), HOUR_S); // 0 of null
}
