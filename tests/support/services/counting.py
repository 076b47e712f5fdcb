"""A collector that only counts, over HTTP: it notes every upload and accepts its reports."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from client_sdk.protocol import Report, Upload, Verdict
from client_sdk.protocol.wire.reading import read_upload


class Counting:
    """What has arrived.

    Attributes:
        url: where it listens.
        uploads: every attempt, by order of arrival.

    """

    def __init__(self, url: str) -> None:
        self.url = url
        self.uploads: list[Upload] = []

    @property
    def reports(self) -> list[Report]:
        """The reports of the uploads that a collector would count: each id once."""
        return [
            report for upload in {upload.id: upload for upload in self.uploads}.values() for report in upload.reports
        ]


@contextlib.contextmanager
def counting() -> Iterator[Counting]:
    """Listen on this machine within the context."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            upload = read_upload(self.rfile.read(int(self.headers["Content-Length"])))
            collector.uploads.append(upload)
            verdict = Verdict(len(upload.reports)).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(verdict)))
            self.end_headers()
            self.wfile.write(verdict)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        collector = Counting(f"http://127.0.0.1:{server.server_port}")
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield collector
        finally:
            server.shutdown()
            thread.join()
