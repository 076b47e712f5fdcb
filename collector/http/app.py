"""The Flask application: routes, headers and errors put together."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from http import HTTPStatus

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

from client_sdk.protocol.window import GRACE_S
from client_sdk.protocol.wire.malformed import MalformedError
from client_sdk.protocol.wire.stopped import STOPPED, encode
from collector.api.headers import with_headers
from collector.api.problem import BY_CODE, Problem, ProblemError
from collector.config import DAY_S, HOUR_S
from collector.errors import QuotaExceededError, StoreFullError, StoreUnavailableError
from collector.http.latency import with_latency
from collector.http.routes import Service, install
from collector.live_config.state import Served
from collector.log import Event
from collector.monitoring.counters import PROBLEMS, STORE_ERRORS, WorkerCounters
from collector.store.store_protocol import TallyStore

RETRY_AFTER_S = 5
"""Seconds to stay away while the store is down: about as long as it takes to start again."""

FULL_RETRY_AFTER_S = 600
"""Seconds to stay away while the store's memory is full.

That is until ids expire, or it gets more memory.
"""

MAX_RETRY_AFTER_S = HOUR_S
"""Longest wait for a client whose key has used up its daily quota.

The access file may raise it at any time.
"""

PREFLIGHT_MAX_AGE_S = 86_400
"""Seconds for which a browser may cache the answer to a preflight request."""

_log = logging.getLogger(__name__)


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
        served: returns the present definitions and keys, which may change while the service runs.
        store: where uploads are counted.
        cors_origins: origins of web pages that may report.
        grace_s: seconds after its end during which a window still takes reports.
        snapshot_interval_s: minimum number of seconds between two looks at open windows.
        clock: Unix seconds.
        counters: counts requests for the metrics; by default, new counters that nobody reads.

    """
    app = Flask(__name__, static_folder=None)
    counters = counters or WorkerCounters()
    app.url_map.merge_slashes = False  # its redirects would echo the Host header
    service = Service(
        served=served,
        store=store,
        grace_s=grace_s,
        snapshot_interval_s=snapshot_interval_s,
        clock=clock,
        counters=counters,
    )
    install(app, service)
    _handle_errors(app, clock, counters)

    app.wsgi_app = with_latency(with_headers(app.wsgi_app), counters)  # type: ignore[method-assign, assignment] # as in Flask's own documentation
    if cors_origins:
        _allow_origins(app, cors_origins)
    _name_stopped_questions(app, served)
    return app


def _name_stopped_questions(app: Flask, served: Callable[[], Served]) -> None:
    """Let every response list the stopped questions, whatever the request and its sender."""

    @app.after_request
    def name_stopped_questions(response: Response) -> Response:
        stopped = served().registry.stopped
        if stopped:
            response.headers[STOPPED] = encode(stopped)
            response.headers.add("Access-Control-Expose-Headers", STOPPED)
        return response


def _allow_origins(app: Flask, origins: tuple[str, ...]) -> None:
    @app.after_request
    def allow_origin(response: Response) -> Response:
        response.headers.add("Vary", "Origin")
        origin = request.headers.get("Origin")
        if origin not in origins:
            return response
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers.add("Access-Control-Expose-Headers", "Retry-After")
        if request.method == "OPTIONS":
            response.headers["Access-Control-Allow-Methods"] = "POST"
            response.headers["Access-Control-Allow-Headers"] = "Authorization, Content-Type"
            response.headers["Access-Control-Max-Age"] = str(PREFLIGHT_MAX_AGE_S)
        return response


def _handle_errors(app: Flask, clock: Callable[[], float], counters: WorkerCounters) -> None:
    @app.errorhandler(ProblemError)
    def on_problem(error: ProblemError) -> Response:
        counters.add(PROBLEMS, error.problem.code)
        return error.response()

    @app.errorhandler(MalformedError)
    def on_malformed(error: MalformedError) -> Response:
        return on_problem(ProblemError(BY_CODE[error.code], str(error)))

    @app.errorhandler(StoreUnavailableError)
    def on_store_down(_: StoreUnavailableError) -> Response:
        # Nothing is logged: a line would tell when uploads came. Maintenance logs once that the
        # store is down.
        counters.add(STORE_ERRORS)
        return on_problem(ProblemError(Problem.STORE_UNAVAILABLE, headers={"Retry-After": str(RETRY_AFTER_S)}))

    @app.errorhandler(StoreFullError)
    def on_store_full(_: StoreFullError) -> Response:
        counters.add(STORE_ERRORS)
        return on_problem(ProblemError(Problem.STORE_FULL, headers={"Retry-After": str(FULL_RETRY_AFTER_S)}))

    @app.errorhandler(QuotaExceededError)
    def on_quota_exceeded(_: QuotaExceededError) -> Response:
        until_s = min(int(DAY_S - clock() % DAY_S) + 1, MAX_RETRY_AFTER_S)
        return on_problem(ProblemError(Problem.QUOTA_EXCEEDED, headers={"Retry-After": str(until_s)}))

    @app.errorhandler(HTTPException)
    def on_http_error(error: HTTPException) -> Response:
        kept = {name: value for name, value in error.get_headers() if name == "Allow"}
        return on_problem(ProblemError(_HTTP_PROBLEMS.get(error.code, Problem.BAD_REQUEST), headers=kept))

    @app.errorhandler(Exception)
    def on_bug(error: Exception) -> Response:
        # The log line names our code. It never holds the request, its address or its body (see
        # collector.log).
        _log.error("a request failed: %s", type(error).__name__, exc_info=error, extra=Event.REQUEST_FAILED.extra)
        return on_problem(ProblemError(Problem.INTERNAL_ERROR))


_HTTP_PROBLEMS: dict[int | None, Problem] = {
    HTTPStatus.NOT_FOUND: Problem.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED: Problem.METHOD_NOT_ALLOWED,
}
"""Problems that the framework itself finds, by status."""
