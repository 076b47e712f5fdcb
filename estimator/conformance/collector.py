"""A simulated collector with scripted responses.

The script is the list ``replies`` in a step of a history. A *history* is a test case for a device:
a list of steps such as recording an answer or sending the reports.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Any, NamedTuple, Self

MAX_BODY_BYTES = 1 << 20
"""The maximum number of bytes to read from a request's body: sixteen times the largest upload."""


class ReceivedRequest(NamedTuple):
    """A request as the collector received it."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes


Scripted = dict[str, Any]
"""The scripted response to one request. ``docs/protocol/vectors.md`` lists the members."""


class ScriptedCollector:
    """A collector that listens on a local port and takes its responses from a script.

    After the last scripted response, the collector accepts all reports.
    """

    def __init__(self, on_kill: Callable[[], None]) -> None:
        """Start to listen.

        ``on_kill`` kills the program under test. A script can request this call in place of a
        response.
        """
        self._script: deque[Scripted] = deque()
        self._received: list[tuple[ReceivedRequest, Scripted]] = []
        self._on_kill = on_kill
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True
        Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def __enter__(self) -> Self:
        """Return this object."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Stop listening."""
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        """The base URL of the collector."""
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    def expect(self, script: list[Scripted]) -> None:
        """Set the responses to the next requests, in order."""
        self._script = deque(script)

    def taken(self) -> list[tuple[ReceivedRequest, Scripted]]:
        """Return the requests since the last call of `taken`, each with its scripted response."""
        received, self._received = self._received, []
        return received

    def answer(self, request: ReceivedRequest) -> tuple[int, dict[str, str], bytes, Scripted]:
        """Store a request.

        Return the status, headers and body of the response, and the response's entry in the script.
        """
        script: Scripted = self._script.popleft() if self._script else {"refuse": {}}
        self._received.append((request, script))
        if script.get("kill"):
            self._on_kill()
        status, headers = script.get("status", 200), script.get("headers", {})
        if "refuse" not in script:
            return status, headers, script.get("body", "").encode(), script
        refused = [
            {"index": index, "code": script["refuse"][report["metric"]]}
            for index, report in enumerate(_reports(request.body))
            if report["metric"] in script["refuse"]
        ]
        accepted = len(_reports(request.body)) - len(refused)
        body = json.dumps({"accepted": accepted, "refused": refused}, separators=(",", ":")).encode()
        script["body"] = body.decode()
        return status, {"Content-Type": "application/json"} | headers, body, script


def _reports(body: bytes) -> list[dict[str, Any]]:
    """Return the reports in an upload's body, or [] if the upload is invalid."""
    try:
        reports = json.loads(body)["reports"]
        return [{"metric": str(report["metric"])} for report in reports]
    except (ValueError, TypeError, KeyError):
        return []


def _handler(collector: ScriptedCollector) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = min(int(self.headers.get("Content-Length") or 0), MAX_BODY_BYTES)
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = ReceivedRequest(self.command, self.path, headers, self.rfile.read(length))
            status, own, body, script = collector.answer(request)
            self.close_connection = True
            if script.get("drop") or script.get("kill"):
                return
            self.send_response_only(status)
            for name, value in own.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body) + (1000 if script.get("cut") else 0)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_PUT = do_HEAD = do_POST  # noqa: N815 a client may follow a redirect with any of them

        def log_message(self, *_: object) -> None:
            """Log nothing, because the conformance report lists all failures."""

    return Handler
