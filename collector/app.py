"""The Flask application, which combines the routes, the headers and the handling of errors."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from flask import Flask, Request, Response
from flask.sessions import NullSession, SessionInterface
from werkzeug.exceptions import HTTPException

from client_sdk.protocol.window import GRACE_S
from client_sdk.protocol.wire.strict_json import MalformedError
from client_sdk.protocol.wire.verdict import STOPPED, encode_stopped
from collector.api.messages import OPERATIONS, with_headers
from collector.api.problem import BY_CODE, Problem, ProblemError
from collector.config import DAY_S, HOUR_S
from collector.counters import OTHER, PROBLEMS, STORE_ERRORS, WorkerCounters
from collector.errors import QuotaExceededError, StoreFullError, StoreUnavailableError
from collector.live_config import Served
from collector.log import Event
from collector.routes import Service, install
from collector.store.store_protocol import TallyStore

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

RETRY_AFTER_S = 5
"""Seconds after which a client may retry if the store is down. The store takes this long to
restart."""

FULL_RETRY_AFTER_S = 600
"""Seconds after which a client may retry if the store's memory is full.

By then, upload ids may have expired, or the operator may have added memory.
"""

MAX_RETRY_AFTER_S = HOUR_S
"""The longest time, in seconds, that a client whose key has used up its quota is told to wait.

The operator may increase the quota before the next day.
"""

PREFLIGHT_MAX_AGE_S = 86_400
"""How long a browser may cache the response to a preflight request, in seconds."""

PREFLIGHT = (
    ("Access-Control-Allow-Methods", "POST"),
    ("Access-Control-Allow-Headers", "Authorization, Content-Type"),
    ("Access-Control-Max-Age", str(PREFLIGHT_MAX_AGE_S)),
)

_log = logging.getLogger(__name__)


class NoSessions(SessionInterface):
    """Gives every request the same empty session, because devices have no sessions."""

    _session = NullSession()

    def open_session(self, app: Flask, request: Request) -> NullSession:  # noqa: ARG002 the same for every request
        """Return the empty session."""
        return self._session


class Application(Flask):
    """A Flask application without hooks.

    Looking up hooks would take a tenth of a request's time.
    """

    session_interface = NoSessions()

    def preprocess_request(self) -> None:
        """Do nothing before a request."""

    def process_response(self, response: Response) -> Response:
        """Return the handler's response unchanged."""
        return response

    def do_teardown_request(self, exc: BaseException | None = None) -> None:
        """Do nothing after a request."""

    def do_teardown_appcontext(self, exc: BaseException | None = None) -> None:
        """Do nothing after a request."""


def create_app(  # noqa: PLR0913 the collector's settings, by name
    served: Callable[[], Served],
    store: TallyStore,
    *,
    cors_origins: tuple[str, ...] = (),
    grace_s: int = GRACE_S,
    snapshot_interval_s: int = HOUR_S,
    clock: Callable[[], float] = time.time,
    counters: WorkerCounters | None = None,
) -> Flask:
    """Return the WSGI application of a collector.

    Args:
        served: returns the current definitions and keys, which may change while the service runs.
        store: the store that counts uploads.
        cors_origins: origins of web pages that may report.
        grace_s: how long a window accepts reports after its end, in seconds.
        snapshot_interval_s: minimum number of seconds between two snapshots of open windows.
        clock: returns Unix seconds.
        counters: counts requests, for the Prometheus metrics.
    """
    app = Application(__name__, static_folder=None)
    counters = counters or WorkerCounters()
    app.url_map.merge_slashes = False  # otherwise, // in a path leads to a redirect, which repeats the Host header
    service = Service(
        served=served,
        store=store,
        grace_s=grace_s,
        snapshot_interval_s=snapshot_interval_s,
        clock=clock,
        counters=counters,
    )
    install(app, service)

    app.register_error_handler(Exception, partial(_respond, clock=clock, counters=counters))
    application = with_headers(app.wsgi_app, lambda environ: _headers(environ, served(), cors_origins))
    app.wsgi_app = with_latency(application, counters)  # type: ignore[method-assign, assignment] # as in Flask's own documentation
    return app


def _headers(environ: WSGIEnvironment, served: Served, origins: tuple[str, ...]) -> list[tuple[str, str]]:
    """Return the response headers that depend on the collector's state and on the client."""
    headers = []
    if served.registry.stopped:  # all responses, even to failed requests, list the stopped metrics
        headers += [(STOPPED, encode_stopped(served.registry.stopped)), ("Access-Control-Expose-Headers", STOPPED)]
    if not origins:
        return headers
    headers.append(("Vary", "Origin"))
    origin = environ.get("HTTP_ORIGIN")
    if origin in origins:
        headers += [("Access-Control-Allow-Origin", origin), ("Access-Control-Expose-Headers", "Retry-After")]
        if environ["REQUEST_METHOD"] == "OPTIONS":
            headers += PREFLIGHT
    return headers


def _respond(error: Exception, clock: Callable[[], float], counters: WorkerCounters) -> Response:
    """Return the response to a request that failed, and count the problem."""
    if isinstance(error, StoreUnavailableError):
        # Log nothing: a line would reveal when an upload arrived. Maintenance logs once that the
        # store is down.
        counters.add(STORE_ERRORS)
    problem = _problem(error, clock)
    if problem.problem is Problem.INTERNAL_ERROR:
        # The log line contains the exception's type and lines of code. It never contains the
        # request, its address or its body (see collector.log).
        _log.error("a request failed: %s", type(error).__name__, exc_info=error, extra=Event.REQUEST_FAILED.extra)
    counters.add(PROBLEMS, problem.problem.code)
    return problem.response()


def _problem(error: Exception, clock: Callable[[], float]) -> ProblemError:
    match error:
        case ProblemError():
            return error
        case MalformedError():
            return ProblemError(BY_CODE[error.code], str(error))
        case HTTPException():  # raised by the framework itself
            kept = {name: value for name, value in error.get_headers() if name == "Allow"}
            return ProblemError(_HTTP_PROBLEMS.get(error.code, Problem.BAD_REQUEST), headers=kept)
        case StoreFullError():
            problem, retry_after_s = Problem.STORE_FULL, FULL_RETRY_AFTER_S
        case StoreUnavailableError():
            problem, retry_after_s = Problem.STORE_UNAVAILABLE, RETRY_AFTER_S
        case QuotaExceededError():
            problem, retry_after_s = Problem.QUOTA_EXCEEDED, min(int(DAY_S - clock() % DAY_S) + 1, MAX_RETRY_AFTER_S)
        case _:
            return ProblemError(Problem.INTERNAL_ERROR)
    return ProblemError(problem, headers={"Retry-After": str(retry_after_s)})


_HTTP_PROBLEMS: dict[int | None, Problem] = {
    HTTPStatus.NOT_FOUND: Problem.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED: Problem.METHOD_NOT_ALLOWED,
}
"""Maps statuses with which Flask itself refuses requests to problems.

Any other status maps to BAD_REQUEST.
"""


_NAMES = {(operation.method, operation.path): operation.name for operation in OPERATIONS}


def with_latency(application: WSGIApplication, counters: WorkerCounters) -> WSGIApplication:
    """Return a WSGI application that also counts another application's requests.

    Requests are counted per operation, with their durations. A request's duration includes the time
    for computing the body of the response.
    """

    def answer(environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
        began_ns = time.perf_counter_ns()
        try:
            return _complete(application(environ, start_response))
        finally:
            name = _NAMES.get((environ["REQUEST_METHOD"], environ["PATH_INFO"]), OTHER)
            counters.observe(name, time.perf_counter_ns() - began_ns)

    return answer


def _complete(body: Iterable[bytes]) -> list[bytes]:
    """Return all parts of a response's body, so that the server sends them with the headers."""
    try:
        return list(body)
    finally:
        if hasattr(body, "close"):
            body.close()
