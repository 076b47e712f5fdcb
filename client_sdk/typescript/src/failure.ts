/** Why a collector could not be used: the causes and the advice of the Python SDK, in `tests/vectors/failures.json`. */

/** What is wrong with the collector, and what to do. */
export const FAILURES = {
  untrusted: [
    "its certificate is not trusted",
    "use one that is valid today, for this host name, and from an authority that this machine trusts",
  ],
  tls: ["the TLS handshake failed", "check the scheme and the port, and which TLS versions both sides allow"],
  unknown_name: ["its host name cannot be resolved", "correct the name in the URL, or check this machine's DNS"],
  proxy: ["the proxy on the way does not connect to it", "correct the proxy's address, or exempt this host from it"],
  refused: ["nothing listens at its address", "start it, or correct the host and port in the URL"],
  no_route: ["this machine has no route to it", "check this machine's network"],
  timeout: ["it did not answer in time", "check whether it is overloaded, or a firewall drops the packets"],
  not_http: ["it does not answer in HTTP", "correct the port in the URL: another program listens there"],
  broken: ["the connection broke off", "try again; if it happens again, see its log"],
  redirect: ["it redirects, which is not followed", "use the URL to which it redirects"],
  key: ["it does not accept the key", "use a key for this purpose that is in its access file"],
  not_found: ["nothing is served at this path", "use the base URL of a collector"],
  too_many: ["it accepts no more for now", "wait, or raise the quota of the key or the limit of the proxy"],
  internal: ["it failed", "see its log"],
  gateway: ["the proxy in front of it gets no answer", "start the collector, or correct the proxy's upstream"],
  unavailable: ["its store does not answer or is full", "see the collector's log for the state of its store"],
  status: ["it answered with an unexpected status", "use the base URL of a collector"],
  other: ["the connection failed", "see the logs of both sides"],
} as const;

export type Failure = keyof typeof FAILURES;

/** Codes of Node's errors. A browser hides the reason from pages: there is none, and the cause is `other`. */
const CODES: readonly (readonly [RegExp, Failure])[] = [
  [/CERT|UNABLE_TO|CHAIN/, "untrusted"],
  [/_SSL_|EPROTO/, "tls"],
  [/ENOTFOUND|EAI_/, "unknown_name"],
  [/REFUSED/, "refused"],
  [/UNREACH|ENETDOWN/, "no_route"],
  [/TIME/i, "timeout"],
  [/HPE_|HTTPParser/, "not_http"],
  [/RESET|EPIPE|_SOCKET/, "broken"],
  [/redirect/, "redirect"],
];

const STATUSES: Readonly<Record<number, Failure>> = {
  401: "key",
  403: "key",
  404: "not_found",
  407: "proxy",
  429: "too_many",
  500: "internal",
  502: "gateway",
  503: "unavailable",
  504: "gateway",
};

/** Return the cause of an HTTP status that brings no verdict, or of an error of fetch, which Node wraps. */
export function causeOf(failure: unknown): Failure {
  if (typeof failure === "number") return STATUSES[failure] ?? "status";
  const { name, code, cause, message } = (failure ?? {}) as Partial<Error & { code: unknown }>;
  const inner = cause ? causeOf(cause) : "other";
  if (inner !== "other") return inner;
  const known = typeof code === "string" ? code : `${name} ${message}`;
  return CODES.find(([pattern]) => pattern.test(known))?.[1] ?? "other";
}

/**
 * Return what is wrong with the collector and what to do about it.
 *
 * Takes what `telemetry.failure` holds: a status or an error. It is a function apart, so that an app that does not call
 * it ships none of these words.
 */
export function explain(failure: unknown): string {
  const [what, advice] = FAILURES[causeOf(failure)];
  return `the collector cannot be used: ${what}; ${advice}`;
}
