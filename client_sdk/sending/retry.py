"""What an attempt to upload came to, and how long to wait before the next: decisions only, no IO.

An upload is given up only when the collector speaks about this very body. Everything else may be somebody between (a
captive portal, a proxy that wants a login, a wrong route), and passes.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from client_sdk.host import forks
from client_sdk.protocol.wire.malformed import MalformedError
from client_sdk.protocol.wire.report import Verdict

OK = 200


UNAUTHORIZED = 401


FORBIDDEN = 403


TOO_MANY = 429


UNAVAILABLE = 503

PERMANENT_STATUSES = frozenset({400, 413, 415, 422})
"""Malformed, too large, of the wrong type, not understood: the same bytes will never fare better, if it is the
collector who says so."""

RETRY_AFTER_CEILING_S = 3600.0
"""The longest wait that a server can ask for: more would let a mistaken header silence devices for good."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back over HTTP.

    Attributes:
        status: the status code.
        retry_after: the header of that name, or none.
        body: the body, or as much of it as was read.

    """

    status: int
    retry_after: str | None
    body: bytes


@dataclass(frozen=True, slots=True)
class Acknowledged:
    """The collector has counted what it accepts."""

    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Rejected:
    """The collector will never take these bytes."""

    status: int


@dataclass(frozen=True, slots=True)
class Transient:
    """Try the same bytes again.

    Attributes:
        retry_after_s: the least number of seconds to wait, from 0 to `RETRY_AFTER_CEILING_S`.

    """

    retry_after_s: float = 0.0


Outcome = Acknowledged | Rejected | Transient


def judge(reply: Reply | None, reports: int, now_s: float) -> Outcome:
    """Return what an attempt came to.

    Args:
        reply: what came back, or none if nothing did.
        reports: how many reports were sent.
        now_s: Unix seconds, to read a date by.

    """
    if reply is None:
        return Transient()
    if reply.status in PERMANENT_STATUSES and _is_the_collectors(reply):
        return Rejected(reply.status)
    if reply.status == OK:
        try:
            return Acknowledged(Verdict.decode(reply.body, reports))
        except MalformedError:
            pass  # somebody else answered, such as the login page of a captive portal
    return Transient(retry_after_s(reply.retry_after, now_s))


def explain(reply: Reply | None) -> str:
    """Return what a developer should know of an attempt that came to nothing, and will be made again."""
    if reply is None:
        return "the collector could not be reached; reports wait: is its address right, and this device online?"
    if reply.status == UNAVAILABLE:
        return "the collector's store does not answer; reports wait: see to the collector"
    if reply.status in (UNAUTHORIZED, FORBIDDEN):
        return (
            f"the collector's address answered with status {reply.status}; reports wait: does upload_key hold a secret "
            "of an upload key that the collector has?"
        )
    if reply.status == TOO_MANY:
        return "the collector takes no more for now, from this address or by this upload key; reports wait"
    return (
        f"the collector's address answered with status {reply.status} and no verdict; reports wait: "
        "is it the base URL of a collector, such as https://telemetry.example.com?"
    )


def _is_the_collectors(reply: Reply) -> bool:
    """Whether an error is a problem document (RFC 9457) with a code, as the collector's are and a proxy's are not."""
    try:
        problem = json.loads(reply.body)
    except (ValueError, RecursionError):
        return False
    return isinstance(problem, dict) and problem.get("status") == reply.status and isinstance(problem.get("code"), str)


def retry_after_s(header: str | None, now_s: float) -> float:
    """Return the seconds that a ``Retry-After`` asks for (RFC 9110, section 10.2.3), clamped; 0 if it says nothing.

    Args:
        header: seconds, or a date.
        now_s: Unix seconds.

    """
    text = (header or "").strip()
    if not text:
        return 0.0
    if text.isascii() and text.isdecimal():
        return RETRY_AFTER_CEILING_S if len(text) > len("3600") else min(float(text), RETRY_AFTER_CEILING_S)
    with forks.importing():
        from email.utils import parsedate_to_datetime  # noqa: PLC0415 importing the SDK must stay quick
    try:
        wait_s = parsedate_to_datetime(text).timestamp() - now_s
    except (ValueError, OverflowError, OSError):
        return 0.0
    return min(max(wait_s, 0.0), RETRY_AFTER_CEILING_S)
