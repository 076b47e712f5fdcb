"""Fetches tallies from a collector over HTTP. No other module of the estimator imports urllib.

Commands read the secret of a read key from the environment or a file. The command line cannot
contain the secret, because every user of the machine can read a command line.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPException, HTTPMessage, HTTPResponse, IncompleteRead
from pathlib import Path
from threading import Thread
from typing import IO, Final
from urllib.error import HTTPError, URLError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from client_sdk.protocol.wire.base_url import is_base_url, is_on_this_machine
from client_sdk.protocol.wire.failure import Failure, failure_of, failure_of_status
from estimator.errors import CollectorDownError, TalliesError
from estimator.tallies import EVERYTHING, PIECE_BYTES, Bounds, Tally, decode

TOKEN_VARIABLE = "HEARSAY_READ_TOKEN"  # noqa: S105 the variable's name, not a token
FILE_VARIABLE = f"{TOKEN_VARIABLE}_FILE"


def token_of_environment() -> str:
    """Read the secret of a read key from an environment variable or from a file.

    `TOKEN_VARIABLE` names the variable with the secret, and `FILE_VARIABLE` the variable with the
    path of a file. Raise `ValueError` if the environment lacks both variables or contains both, if
    the file cannot be read, or if an HTTP header cannot contain the secret. The message never
    contains the secret.
    """
    token, file = os.environ.get(TOKEN_VARIABLE), os.environ.get(FILE_VARIABLE)
    if token is not None and file is not None:
        raise ValueError(f"{TOKEN_VARIABLE} and {FILE_VARIABLE} are both set: keep one of them")
    if file is not None:
        try:
            token = Path(file).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = getattr(error, "strerror", None) or "the file is not UTF-8 text"
            raise ValueError(f"the read token's file {file} cannot be read: {problem}") from None
    wanted = f"set {TOKEN_VARIABLE} to the collector's read token, one line of ASCII"
    if file is not None:
        wanted = f"{file}, which {FILE_VARIABLE} names, must contain the collector's read token, one line of ASCII"
    return checked_token(token or "", wanted)


def checked_token(token: str, problem: str) -> str:
    """Remove the final line break from a secret.

    Raise `ValueError` if an HTTP header cannot contain the secret. ``problem`` is the error's
    message.
    """
    secret = token.rstrip("\r\n")
    if not (secret and secret.isascii() and secret.isprintable()):
        raise ValueError(problem)
    return secret


TIMEOUT_S = 60.0
"""The maximum number of seconds to wait for the next byte. The first byte takes longest. The
collector stores the counts of a tally in several shards, and adds up the shards of all tallies
before it sends the first line.
"""

LIMIT_S = 900.0
"""The maximum number of seconds for the whole response, enough for hundreds of megabytes over a
slow connection. Without this limit, a collector could keep the job busy forever with one byte a
minute.
"""

SNAPSHOT_TAKEN = "Hearsay-Snapshot"
"""The response header with the time at which the collector read the open windows."""


class _NoRedirect(HTTPRedirectHandler):
    """A handler that refuses redirects. urllib then never sends a read token to another host."""

    def redirect_request(  # noqa: PLR0913, PLR0917 the overridden signature
        self, req: Request, fp: IO[bytes], code: int, msg: str, headers: HTTPMessage, newurl: str
    ) -> None:
        """Return None. urllib then raises an error with the redirect's status."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A collector's response.

    Attributes:
        tallies: the selected tallies, in the collector's order.
        snapshot_at: the UTC time at which the collector read the open windows. None if open windows
            were not requested, or if the response does not contain the time.

    """

    tallies: list[Tally]
    snapshot_at: datetime | None = None


NO_COLLECTOR: Final = "--collector must be a URL such as http://127.0.0.1:8080, without user, query or fragment"


def is_collector(url: str) -> bool:
    """Return whether a string is a valid URL of a collector."""
    return is_base_url(url) and url.isascii()


def fetch(
    collector: str, token: str, *, preliminary: bool, bounds: Bounds = EVERYTHING, timeout_s: float = TIMEOUT_S
) -> Fetched:
    """Read the tallies of a collector at an ``http://`` or ``https://`` URL.

    Args:
        collector: the collector's URL.
        token: the secret of a read key of the collector.
        preliminary: whether to request the snapshot of open windows, in addition to closed windows.
        bounds: the limits on the response, and the selected windows.
        timeout_s: the maximum number of seconds to wait for the next byte.

    Raises:
        CollectorDownError: if the collector cannot be reached, disconnects, is too slow, or
            responds that it is unavailable.
        TalliesError: if the collector refuses the request, if the response is not NDJSON of
            tallies, or if there are too many tallies.

    """
    if not is_collector(collector):
        raise TalliesError(NO_COLLECTOR)
    answer: Future[Fetched] = Future()

    def ask() -> None:
        try:
            answer.set_result(_fetched(collector, token, bounds, preliminary=preliminary, timeout_s=timeout_s))
        except BaseException as error:  # noqa: BLE001 the waiting thread raises it
            answer.set_exception(error)

    # the request runs in a thread that can be abandoned, because no socket timeout limits the total
    # time that a server takes for its headers
    Thread(target=ask, daemon=True).start()
    try:
        return answer.result(LIMIT_S)
    except TimeoutError:
        raise _too_slow(collector) from None


def _fetched(collector: str, token: str, bounds: Bounds, *, preliminary: bool, timeout_s: float) -> Fetched:
    url = f"{collector.rstrip('/')}/v1/tallies{'?preliminary=1' if preliminary else ''}"
    request = Request(url, headers={"Authorization": f"Bearer {token}"})  # noqa: S310 the scheme was checked above
    # never use a proxy for a collector on this machine
    opener = build_opener(_NoRedirect, ProxyHandler({} if is_on_this_machine(collector) else None))
    try:
        with opener.open(request, timeout=timeout_s) as response:
            pieces = _pieces(response, collector, time.monotonic() + LIMIT_S)
            return Fetched(decode(bounds.lines(pieces), bounds), _instant(response.headers.get(SNAPSHOT_TAKEN)))
    except CollectorDownError:
        raise
    except TalliesError as error:
        raise TalliesError(f"{collector} did not answer with tallies: {error}") from None
    except HTTPError as error:
        with error:
            raise _refusal(collector, error.code, preliminary=preliminary) from None
    except HTTPException as error:  # its message is not shown, because it would quote the response
        raise CollectorDownError(failure_of(error).said_of(collector)) from None
    except OSError as error:
        reason = error.reason if isinstance(error, URLError) else error
        raise CollectorDownError(failure_of(error).said_of(collector, str(reason))) from None


def _pieces(response: HTTPResponse, collector: str, until: float) -> Iterator[bytes]:
    """Yield the pieces of a response's body as they arrive.

    Raise an error if the monotonic clock reaches ``until`` before the body ends.
    """
    while piece := response.read1(PIECE_BYTES):
        if time.monotonic() > until:
            raise _too_slow(collector)
        yield piece
    if response.length:  # the connection broke, which http.client does not report
        raise IncompleteRead(b"", response.length)


def _too_slow(collector: str) -> CollectorDownError:
    return CollectorDownError(
        f"{collector} has not sent all tallies within {LIMIT_S / 60:g} minutes; try again, or check "
        "whether the collector, or a proxy in front of it, is overloaded"
    )


def _instant(text: str | None) -> datetime | None:
    """Parse an instant with a time zone (RFC 3339). Return None for a missing or invalid string."""
    try:
        instant = None if text is None else datetime.fromisoformat(text)
        return None if instant is None or instant.tzinfo is None else instant.astimezone(UTC)
    except (ValueError, OverflowError):
        # converting an instant on the first or last possible day to UTC can exceed the range of
        # dates
        return None


def _refusal(collector: str, status: int, *, preliminary: bool) -> TalliesError:
    if status == HTTPStatus.UNAUTHORIZED:
        return TalliesError(f"{collector} rejects the read token; set {TOKEN_VARIABLE} to a valid one")
    if status == HTTPStatus.FORBIDDEN and preliminary:
        return TalliesError(
            f"{collector} does not let this token read open windows; use a read key whose entry in the access file has "
            "preliminary = true"
        )
    if status == HTTPStatus.FORBIDDEN:
        return TalliesError(f"{collector} does not let this token read tallies; use a read key")
    failure = failure_of_status(status)
    is_down = failure is Failure.TOO_MANY or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    return (CollectorDownError if is_down else TalliesError)(failure.said_of(collector, f"status {status}"))
