/** Why a collector could not be used: the reasons and advice of the Python SDK, as in `tests/vectors/failures.json`. */

/** The problem and the advice for each reason that a browser reveals to a page. */
export const FAILURES = {
  status: ["it answered with an unexpected status", "use the base URL of a collector"],
  unavailable: ["its store does not answer or is full", "see the collector's log for the state of its store"],
  role: ["the key has another role", "use a key with the right role from the collector's access file"],
  not_found: ["nothing is served at this path", "use the base URL of a collector"],
  too_many: ["it gets too many requests", "wait, or raise the key's quota or the proxy's limit"],
  key: ["it does not know the key", "use a key with the right role from the collector's access file"],
  no_key: ["it requires a key", "use a key with the right role from the collector's access file"],
  internal: ["it failed", "see its log"],
  hidden: ["it did not answer, or does not allow this page's origin", "see whether it runs, and name the origin in its --cors-origin"],
  gateway: ["the proxy in front of it gets no answer", "start the collector, or correct the proxy's upstream"],
  timeout: ["it did not answer in time", "check its load, and whether a firewall drops packets"],
} as const;

const STATUSES: Readonly<Record<number, keyof typeof FAILURES>> = {
  401: "key",
  403: "role",
  404: "not_found",
  429: "too_many",
  500: "internal",
  502: "gateway",
  503: "unavailable",
  504: "gateway",
};

/** Return the reason for an HTTP status other than success, or for an error thrown by `fetch`. */
export function causeOf(failure: unknown, hasKey: boolean): keyof typeof FAILURES {
  if (typeof failure === "number") return failure === 401 && !hasKey ? "no_key" : (STATUSES[failure] ?? "status");
  return (failure as Partial<Error> | undefined)?.name === "TimeoutError" ? "timeout" : "hidden";
}

/** Return a message with the problem and the advice, for a status or an error thrown by `fetch`. */
export function explain(
  failure: unknown,
  hasKey: boolean,
  [what, advice]: readonly [string, string] = FAILURES[causeOf(failure, hasKey)],
): string {
  const status = typeof failure === "number" ? ` (status ${failure})` : "";
  return `reports wait: the collector cannot be used: ${what}${status}; ${advice}`;
}
