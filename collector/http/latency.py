"""Measures every request, including everything else that the application does."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from collector.api.operations import OPERATIONS
from collector.monitoring.counters import OTHER, WorkerCounters

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIApplication, WSGIEnvironment

_NAMES = {(operation.method, operation.path): operation.name for operation in OPERATIONS}


def with_latency(application: WSGIApplication, counters: WorkerCounters) -> WSGIApplication:
    """Return the application with its requests counted by operation and duration.

    A body is complete when it is returned, so the duration includes it.
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
    """Return the parts of a body as a list, which the server can send together with the head."""
    try:
        return list(body)
    finally:
        if hasattr(body, "close"):
            body.close()
