"""Decides from the response whether an upload is acknowledged, rejected or sent again.

An upload is given up only if the response proves that the collector itself rejects the upload. Any
other response may come from another server on the way, such as a proxy or a Wi-Fi login page. The
upload is then sent again.
"""

import json
from typing import NamedTuple

from client_sdk.host import forks
from client_sdk.protocol.wire.failure import Failure, failure_of_status
from client_sdk.protocol.wire.strict_json import MalformedError
from client_sdk.protocol.wire.verdict import MetricEdition, Verdict, decode_stopped
from client_sdk.sending.timing import RETRY_AFTER_CEILING_S

OK = 200

PERMANENT_STATUSES = frozenset({400, 413, 415, 422})
"""The HTTP statuses for a body that is malformed, too large, of the wrong type, or not understood.
The collector will never accept the same bytes."""


class Reply(NamedTuple):
    """An HTTP response.

    >>> Reply(200, None, b'{"accepted":1,"refused":[]}').status
    200

    Attributes:
        status: the status code.
        retry_after: the ``Retry-After`` header; None if the response lacks it.
        body: the body, or the part of it that was read.
        stopped: the value of the ``Hearsay-Stopped`` header; None if the response lacks it.
        has_key: whether the request contained an upload key.
    """

    status: int
    retry_after: str | None
    body: bytes
    stopped: str | None = None
    has_key: bool = True


class Acknowledged(NamedTuple):
    """The collector has counted all reports that it did not refuse.

    Attributes:
        verdict: the outcome of each report.
        stopped: the metrics that the collector has stopped. `Rejected` and `Transient` have no such
            list, because their responses may come from another server on the way.
    """

    verdict: Verdict
    stopped: tuple[MetricEdition, ...] = ()


class Rejected(NamedTuple):
    """The collector will never accept the upload."""

    status: int


class Transient(NamedTuple):
    """The same upload must be sent again, byte for byte.

    Attributes:
        retry_after_s: the minimum number of seconds to wait, from 0 to `RETRY_AFTER_CEILING_S`.

    """

    retry_after_s: float = 0.0


AttemptOutcome = Acknowledged | Rejected | Transient


def judge(reply: Reply | Failure | None, reports: int, now_s: float) -> AttemptOutcome:
    """Return the outcome of an attempt to send an upload of ``reports`` reports.

    ``reply`` is the response, or the reason for a missing response; None if the reason is unknown.
    ``now_s`` is the current Unix time.
    """
    if not isinstance(reply, Reply):
        return Transient()
    if reply.status in PERMANENT_STATUSES and _is_the_collectors(reply):
        return Rejected(reply.status)
    if reply.status == OK:
        try:
            return Acknowledged(Verdict.decode(reply.body, reports), decode_stopped(reply.stopped))
        except MalformedError:
            pass  # not a collector's response, but for example a Wi-Fi login page
    return Transient(retry_after_s(reply.retry_after, now_s))


def explain(reply: Reply | Failure | None, outcome: AttemptOutcome) -> str | None:
    """Return a sentence for developers about a failed attempt; None if all reports were counted."""
    match outcome:
        case Acknowledged(verdict, _):
            sentences = [code.sentence for _, code in verdict.refused]
            return f"the collector refused a report: {sentences[0]}" if sentences else None
        case Rejected(status):
            rejected = f"the collector rejected an upload with status {status}"
            return f"{rejected}. The reports are lost. Is the collector too old?"
        case Transient():
            return _why_again(reply)


def _why_again(reply: Reply | Failure | None) -> str:
    if isinstance(reply, Reply):
        cause = failure_of_status(reply.status, has_key=reply.has_key)
        sentence = cause.said_of("the collector", f"status {reply.status}")
    else:
        sentence = (reply or Failure.OTHER).said_of("the collector")
    return f"reports wait: {sentence}"


def _is_the_collectors(reply: Reply) -> bool:
    """Whether an error response is a problem document (RFC 9457) that has a ``code``."""
    try:
        problem = json.loads(reply.body)
    except (ValueError, RecursionError):
        return False
    return isinstance(problem, dict) and problem.get("status") == reply.status and isinstance(problem.get("code"), str)


def retry_after_s(header: str | None, now_s: float) -> float:
    """Return the seconds that a ``Retry-After`` header requests; 0 if the header is invalid.

    The header contains seconds or a date (RFC 9110, section 10.2.3). Delays are limited to
    `RETRY_AFTER_CEILING_S`.
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
