"""Sends prepared requests over a few persistent connections, each in its own process."""

from __future__ import annotations

import multiprocessing
import secrets
import socket
import time
from collections.abc import Sequence

from client_sdk.protocol import Registry, Report, Upload, Window

CONNECTIONS = 8
"""The number of connections.

With this number, the server always has requests. More client processes would take time from the
server.
"""


ANSWER_TIMEOUT_S = 30.0


def uploads(registry: Registry, number: int, reports: int = 4) -> list[bytes]:
    """Return the bodies of uploads with new ids and reports about the metrics in turn."""
    now_s = time.time()
    metrics = list(registry.metrics.values())
    chosen = [metrics[index % len(metrics)] for index in range(reports)]
    rows = tuple(
        Report(metric.name, metric.edition, Window.at(metric.window, now_s).text, index % metric.channel.symbols)
        for index, metric in enumerate(chosen)
    )
    return [Upload(secrets.token_hex(16), rows).encode() for _ in range(number)]


JSON = ("Content-Type: application/json",)


def request(path: str, body: bytes, headers: Sequence[str] = JSON) -> bytes:
    head = ("POST {} HTTP/1.1", "Host: 127.0.0.1", *headers, "Content-Length: {}", "", "")
    return "\r\n".join(head).format(path, len(body)).encode() + body


def send_all(port: int, requests: Sequence[bytes], *, per_s: float = float("inf"), expected: bytes = b" 200 ") -> float:
    """Send all requests, wait for all answers, and return the total seconds.

    ``per_s`` is the maximum rate over all connections. The first line of each answer must contain
    ``expected``.
    """
    context = multiprocessing.get_context("fork")
    started = time.perf_counter()
    senders = [
        context.Process(target=_send, args=(port, requests[index::CONNECTIONS], CONNECTIONS / per_s, expected))
        for index in range(CONNECTIONS)
    ]
    for sender in senders:
        sender.start()
    for sender in senders:
        sender.join()
    elapsed_s = time.perf_counter() - started
    if any(sender.exitcode for sender in senders):
        raise RuntimeError("a request was not answered as expected")
    return elapsed_s


def _send(port: int, requests: Sequence[bytes], interval_s: float, expected: bytes) -> None:
    connection: socket.socket | None = None
    due = time.perf_counter()
    for body in requests:
        time.sleep(max(0.0, due - time.perf_counter()))
        due += interval_s
        connection = connection or socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_S)
        connection.sendall(body)
        head = read_answer(connection)
        if expected not in head[:16]:
            raise RuntimeError(head.decode(errors="replace"))
        if b"connection: close" in head.lower():
            connection.close()
            connection = None


def read_answer(connection: socket.socket) -> bytes:
    """Read one complete answer, and return its status line and headers."""
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += _receive(connection)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0] or b"0")
    while len(body) < length:
        body += _receive(connection)
    return head


def _receive(connection: socket.socket) -> bytes:
    part = connection.recv(65_536)
    if not part:
        raise ConnectionError("the server closed the connection in the middle of an answer")
    return part
