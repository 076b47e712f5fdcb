"""The possible reasons why a server cannot be used, with advice on each reason.

The SDKs, the relay, the collector's store and the estimator share this list.
`tests/vectors/failures.json` contains it for other programming languages.

Exceptions are recognized by the names of their classes. Therefore this module does not import
`requests`, `redis` or `ssl`.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Final


class Failure(Enum):
    """A reason for a failure. If several reasons apply, the first one in this enumeration is used.

    Attributes:
        what: the problem, as a clause that follows "SERVER cannot be used:" in messages.
        advice: what to do about the problem.
    """

    DISK = "the disk is full or read-only", "make room on it, or mount it for writing again"
    UNTRUSTED = (
        "its certificate is not trusted",
        "use one that is valid today, names the server's host, and comes from an authority that this machine trusts",
    )
    TLS = "the TLS handshake failed", "check the scheme and the port, and which TLS versions both sides allow"
    UNKNOWN_NAME = "its host name cannot be resolved", "correct the name in the URL, or check this machine's DNS"
    PASSWORD = "it refuses this user or password", "correct the user and password in the URL"
    LOADING = "it is still reading its data", "wait until it has finished"
    PROXY = "the proxy does not connect to it", "correct the proxy's address, or exempt the server's host"
    REFUSED = "nothing listens at its address", "start it, or correct the host and port in the URL"
    NO_ROUTE = "this machine has no route to it", "check this machine's network"
    TIMEOUT = "it did not answer in time", "check its load, and whether a firewall drops packets"
    NOT_HTTP = "it does not answer in HTTP", "correct the port in the URL: another program listens there"
    BROKEN = "the connection was interrupted", "try again; if this happens again, see the server's log"
    REDIRECT = "it redirects requests, and redirects are not followed", "use the URL to which it redirects"
    NO_KEY = "it requires a key", "use a key with the right role from the collector's access file"
    KEY = "it does not know the key", "use a key with the right role from the collector's access file"
    ROLE = "the key has another role", "use a key with the right role from the collector's access file"
    NOT_FOUND = "nothing is served at this path", "use the base URL of a collector"
    TOO_MANY = "it gets too many requests", "wait, or raise the key's quota or the proxy's limit"
    INTERNAL = "it failed", "see its log"
    GATEWAY = "the proxy in front of it gets no answer", "start the collector, or correct the proxy's upstream"
    UNAVAILABLE = "its store does not answer or is full", "see the collector's log for the state of its store"
    STATUS = "it answered with an unexpected status", "use the base URL of a collector"
    OTHER = "the connection failed", "see the logs of both sides"

    def __init__(self, what: str, advice: str) -> None:
        """Set the attributes."""
        self.what = what
        self.advice = advice

    def said_of(self, server: str, detail: str = "") -> str:
        """Return a message that states the server, the problem and the advice."""
        return f"{server} cannot be used: {self.words(detail)}"

    def words(self, detail: str = "") -> str:
        """Return the problem and the advice, without the server's name."""
        return f"{self.what}{f' ({detail})' if detail else ''}; {self.advice}"


_BY_CLASS: Final[Mapping[str, Failure]] = {
    "SSLCertVerificationError": Failure.UNTRUSTED,
    "SSLError": Failure.TLS,
    "gaierror": Failure.UNKNOWN_NAME,
    "AuthenticationError": Failure.PASSWORD,
    "BusyLoadingError": Failure.LOADING,
    "ProxyError": Failure.PROXY,
    "ConnectionRefusedError": Failure.REFUSED,
    "TimeoutError": Failure.TIMEOUT,
    "Timeout": Failure.TIMEOUT,  # of the library `requests`
    "ConnectionError": Failure.BROKEN,  # of several libraries; an error that it wraps may give a closer reason
    "IncompleteRead": Failure.BROKEN,
    "RemoteDisconnected": Failure.BROKEN,
    "ChunkedEncodingError": Failure.BROKEN,
    "HTTPException": Failure.NOT_HTTP,
}

_BY_ERRNO: Final[Mapping[int, Failure]] = {
    **dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS), Failure.DISK),
    **dict.fromkeys((errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN), Failure.NO_ROUTE),
}

_FULL_DISK_WORDS: Final = (
    "MISCONF",
    *(os.strerror(code) for code, cause in _BY_ERRNO.items() if cause is Failure.DISK),
)
"""Parts of the error messages of a Redis or Valkey server that cannot write to its disk."""

_BY_STATUS: Final[Mapping[int, Failure]] = {
    **dict.fromkeys((301, 302, 303, 307, 308), Failure.REDIRECT),
    401: Failure.KEY,
    403: Failure.ROLE,
    404: Failure.NOT_FOUND,
    407: Failure.PROXY,
    429: Failure.TOO_MANY,
    500: Failure.INTERNAL,
    502: Failure.GATEWAY,
    503: Failure.UNAVAILABLE,
    504: Failure.GATEWAY,
}

_ORDER: Final = list(Failure)


def failure_of(error: BaseException) -> Failure:
    """Return the reason for an error. The errors that ``error`` wraps are also considered."""
    causes = {cause for inner in _wrapped(error, set()) if (cause := _cause(inner)) is not None}
    return min(causes, key=_ORDER.index, default=Failure.OTHER)


def failure_of_status(status: int, *, has_key: bool = True) -> Failure:
    """Return the reason for an HTTP status that does not mean success."""
    cause = _BY_STATUS.get(status, Failure.STATUS)
    return Failure.NO_KEY if cause is Failure.KEY and not has_key else cause


def _cause(error: BaseException) -> Failure | None:
    if isinstance(error, OSError) and (cause := _BY_ERRNO.get(error.errno or 0)) is not None:
        return cause
    if any(words in str(error) for words in _FULL_DISK_WORDS):
        return Failure.DISK
    names = (parent.__name__ for parent in type(error).__mro__)
    return next((_BY_CLASS[name] for name in names if name in _BY_CLASS), None)


def _wrapped(error: BaseException, seen: set[int]) -> Iterator[BaseException]:
    """Yield an error and all errors among its causes, contexts, reasons and arguments."""
    if id(error) in seen:
        return
    seen.add(id(error))
    yield error
    for inner in (error.__cause__, error.__context__, getattr(error, "reason", None), *error.args):
        if isinstance(inner, BaseException):
            yield from _wrapped(inner, seen)
