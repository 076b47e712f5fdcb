"""The ASGI application of the relay, which responds to devices as a collector does.

The relay forwards only the upload in the body of a request. The upload is encoded again, so that
white space and the order of members reveal nothing about a device. The relay reads no addresses. Of
the headers, the relay reads only those that describe the body. Every response contains the same
list of stopped metrics.

An attacker may announce a body and withhold it, to occupy a connection and memory. Therefore each
body has a time limit, and the number of arriving bodies is limited. If too many bodies are
arriving, the relay gives up the body that began first, but only once this body has had MOMENT_S
seconds. Bodies from devices arrive within moments, so devices lose no uploads.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from http import HTTPStatus
from typing import Any

from flask import Response

from client_sdk.protocol.wire.reading import MAX_UPLOAD_BYTES, read_upload
from client_sdk.protocol.wire.strict_json import MalformedError
from client_sdk.protocol.wire.verdict import STOPPED, MetricEdition, encode_stopped
from collector.api.batch import LineProblem
from collector.api.messages import JSON, NOT_CACHED, require_type, too_large
from collector.api.problem import BY_CODE, Problem, ProblemError, problem_response
from collector.counters import PROBLEMS, WorkerCounters
from collector.relay.forward import CollectorUnavailableError
from collector.relay.mixer import Mixer

MAX_HELD_BYTES = 67_108_864
"""The maximum size of all held uploads together, in bytes.

Either 1,000 uploads of maximum size or 100,000 uploads of usual size fit into this limit.
"""

RETRY_AFTER_S = {HTTPStatus.SERVICE_UNAVAILABLE: 5, HTTPStatus.TOO_MANY_REQUESTS: 3600}
"""How long a device should wait before a retry (seconds), keyed by the response's status.

503: the collector or the relay cannot accept the upload now. 429: a quota is used up.
"""

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

_log = logging.getLogger(__name__)

BODY_DEADLINE_S = 15.0
"""The maximum time for a body to arrive, in seconds.

Even over a very slow line, 64 KiB arrive within this time.
"""

MOMENT_S = 0.5
"""The time, in seconds, that every body may take to arrive, even if too many are arriving."""

TURN_S = 0.01
"""The interval, in seconds, at which a waiting request checks whether too many bodies are still
arriving."""

MAX_ARRIVING = 512
"""The maximum number of bodies that arrive at the same time, together at most 32 MiB.

A relay allows twice as many connections in addition to those of held uploads, so there is always a
connection for the next client.
"""


class Room:
    """Limits the number and the bytes of held uploads.

    Only uploads that have arrived completely count toward the limits. `Arrivals` limits the bodies
    that are still arriving.
    """

    def __init__(self, max_uploads: int, max_bytes: int = MAX_HELD_BYTES) -> None:
        """Store the maximum number of held uploads, and the maximum sum of their bytes."""
        self._uploads = max_uploads
        self._bytes = max_bytes

    def require(self, size: int = 0) -> None:
        """Check that there is space for an upload of ``size`` bytes.

        Raises:
            ProblemError: 503 if there is no space.
        """
        if self._uploads < 1 or self._bytes < size:
            raise _retryable(Problem.RELAY_FULL)

    @contextmanager
    def taken(self, size: int) -> Iterator[None]:
        """Reserve space for an upload of ``size`` bytes during a ``with`` block.

        Raises:
            ProblemError: 503 if there is no space.
        """
        self.require(size)
        self._uploads -= 1
        self._bytes -= size
        try:
            yield
        finally:
            self._uploads += 1
            self._bytes += size


class RelayApp:
    """The ASGI application of a relay."""

    def __init__(
        self,
        mixer: Mixer,
        room: Room,
        arrivals: Arrivals | None = None,
        stopped: Callable[[], Collection[MetricEdition]] = tuple,
        counters: WorkerCounters | None = None,
    ) -> None:
        """Store the objects that the application uses. ``stopped`` returns the stopped metrics."""
        self._counters = counters or WorkerCounters()
        self._mixer = mixer
        self._stopped = stopped
        self._room = room
        self._arrivals = arrivals or Arrivals()
        self._handlers = {
            "/v1/reports": ("POST", self._post_reports),
            "/healthz": ("GET", self._get_healthz),
            "/readyz": ("GET", self._get_readyz),
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Respond to one request."""
        try:
            response = await self._answer(scope, receive)
        except ProblemError as error:
            response = self._problem(error)
        except MalformedError as error:
            response = self._problem(ProblemError(BY_CODE[error.code], str(error)))
        except CollectorUnavailableError:
            response = self._problem(_retryable(Problem.COLLECTOR_UNAVAILABLE))
        except Exception as error:  # noqa: BLE001 whatever the error is, the device gets a response
            # The log line contains the exception's type and lines of code. It never contains the
            # request, its address or its body.
            _log.exception("a request failed: %s", type(error).__name__)
            response = self._problem(ProblemError(Problem.INTERNAL_ERROR))
        stopped = self._stopped()
        own = [*NOT_CACHED, *([(STOPPED, encode_stopped(stopped))] if stopped else [])]
        headers = [(name.lower().encode(), value.encode()) for name, value in (*response.headers, *own)]
        await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
        await send({"type": "http.response.body", "body": response.get_data()})

    def _problem(self, error: ProblemError) -> Response:
        self._counters.add(PROBLEMS, error.problem.code)
        return error.response()

    async def _answer(self, scope: Scope, receive: Receive) -> Response:
        if scope["path"] not in self._handlers:
            raise ProblemError(Problem.NOT_FOUND)
        method, handler = self._handlers[scope["path"]]
        if scope["method"] != method:
            raise ProblemError(Problem.METHOD_NOT_ALLOWED, headers={"Allow": method})
        return await handler(scope, receive)

    async def _post_reports(self, scope: Scope, receive: Receive) -> Response:
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        require_type(headers.get(b"content-type", ""), headers.get(b"content-encoding", ""), JSON)
        content_length = headers.get(b"content-length", "")
        length = int(content_length) if content_length.isdecimal() else None
        if length is not None and length > MAX_UPLOAD_BYTES:
            raise too_large(MAX_UPLOAD_BYTES)
        self._room.require()
        async with self._arrivals.receiving():
            upload = read_upload(await _read_body(receive, length))
        line = upload.encode()  # nothing else of the request is stored
        with self._room.taken(len(line)):
            answer = await self._mixer.deliver(upload.id, line)
        if isinstance(answer, LineProblem):
            # a collector of another version may have codes that this relay does not know
            self._counters.add(PROBLEMS, BY_CODE.get(answer.code, Problem.COLLECTOR_UNAVAILABLE).code)
            return problem_response(answer.status, answer.code, answer.detail, _retry_after(answer.status))
        return Response(answer.verdict.encode(), mimetype=JSON)

    async def _get_healthz(self, _scope: Scope, _receive: Receive) -> Response:
        return Response("alive\n", mimetype="text/plain")

    async def _get_readyz(self, _scope: Scope, _receive: Receive) -> Response:
        self._room.require()
        return Response("ready\n", mimetype="text/plain")


async def _read_body(receive: Receive, length: int | None) -> bytes:
    """Return the whole body of a request.

    A relay accepts chunked bodies, because ASGI tells whether a body is complete.
    """
    body = bytearray()
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ProblemError(Problem.BODY_INCOMPLETE)
        body += message.get("body", b"")
        more = message.get("more_body", False)
        if len(body) > MAX_UPLOAD_BYTES:
            raise too_large(MAX_UPLOAD_BYTES)
    if length is not None and len(body) != length:
        raise ProblemError(Problem.BODY_INCOMPLETE)
    return bytes(body)


def _retry_after(status: HTTPStatus) -> dict[str, str]:
    return {"Retry-After": str(RETRY_AFTER_S[status])} if status in RETRY_AFTER_S else {}


def _retryable(problem: Problem) -> ProblemError:
    return ProblemError(problem, headers=_retry_after(problem.status))


class Arrivals:
    """Limits the number of bodies that arrive at the same time, and the time for each body."""

    def __init__(self, max_bodies: int = MAX_ARRIVING, deadline_s: float = BODY_DEADLINE_S) -> None:
        """Store the limits: the number of arriving bodies, and the seconds for each body."""
        self._max_bodies = max_bodies
        self._deadline_s = deadline_s
        self._waits: dict[asyncio.Timeout, float] = {}  # the oldest first; the value is the start time

    @asynccontextmanager
    async def receiving(self) -> AsyncIterator[None]:
        """Limit the duration of the ``with`` block, in which the caller receives one body.

        If too many bodies are arriving, wait until the body that began first has had MOMENT_S
        seconds, and then give up that body.

        Raises:
            ProblemError: 408 if the body takes too long, or is given up for another body.
        """
        clock_s = asyncio.get_running_loop().time
        while len(self._waits) >= self._max_bodies:
            oldest, since_s = next(iter(self._waits.items()))
            if clock_s() - since_s >= MOMENT_S:
                del self._waits[oldest]
                oldest.reschedule(clock_s())
            else:
                await asyncio.sleep(TURN_S)
        try:
            async with asyncio.timeout(self._deadline_s) as wait:
                self._waits[wait] = clock_s()
                try:
                    yield
                finally:
                    self._waits.pop(wait, None)
        except TimeoutError:
            raise ProblemError(Problem.BODY_TOO_SLOW) from None
