/** The reasons why Node could not use a collector. Pages learn fewer reasons, and do not ship these words. */

import { causeOf, explain, FAILURES } from "./failure.js";

/** The reasons that Node reveals in addition to those that browsers reveal. */
export const NODE_FAILURES = {
  untrusted: [
    "its certificate is not trusted",
    "use one that is valid today, names the server's host, and comes from an authority that this machine trusts",
  ],
  tls: ["the TLS handshake failed", "check the scheme and the port, and which TLS versions both sides allow"],
  unknown_name: ["its host name cannot be resolved", "correct the name in the URL, or check this machine's DNS"],
  proxy: ["the proxy does not connect to it", "correct the proxy's address, or exempt the server's host"],
  refused: ["nothing listens at its address", "start it, or correct the host and port in the URL"],
  no_route: ["this machine has no route to it", "check this machine's network"],
  not_http: ["it does not answer in HTTP", "correct the port in the URL: another program listens there"],
  broken: ["the connection was interrupted", "try again; if this happens again, see the server's log"],
  redirect: ["it redirects requests, and redirects are not followed", "use the URL to which it redirects"],
  other: ["the connection failed", "see the logs of both sides"],
} as const;

export type Failure = keyof typeof FAILURES | keyof typeof NODE_FAILURES;

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

/** Return the reason for a status, or for an error thrown by `fetch`. The error may wrap other errors. */
export function causeInNode(failure: unknown, hasKey: boolean): Failure {
  if (typeof failure === "number") return failure === 407 ? "proxy" : causeOf(failure, hasKey);
  const { name, code, cause, message } = (failure ?? {}) as Partial<Error & { code: unknown }>;
  const inner = cause ? causeInNode(cause, hasKey) : "other";
  if (inner !== "other") return inner;
  const known = typeof code === "string" ? code : `${name} ${message}`;
  return CODES.find(([pattern]) => pattern.test(known))?.[1] ?? "other";
}

/** Return a message with the problem and the advice. */
export function explainInNode(failure: unknown, hasKey: boolean): string {
  return explain(failure, hasKey, { ...FAILURES, ...NODE_FAILURES }[causeInNode(failure, hasKey)]);
}
