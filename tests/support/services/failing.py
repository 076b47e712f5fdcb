"""Servers that fail in the ways that real ones do, each behind an address of its own."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
from collections.abc import Callable, Iterator

import trustme

from client_sdk.protocol.wire.failure import Failure
from tests.support.services.listening import listening
from tests.support.services.processes import free_port


@contextlib.contextmanager
def _nobody() -> Iterator[str]:
    yield f"127.0.0.1:{free_port()}"


@contextlib.contextmanager
def _unknown() -> Iterator[str]:
    yield "nobody.invalid:80"


@contextlib.contextmanager
def _silent() -> Iterator[str]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"127.0.0.1:{listener.getsockname()[1]}"


@contextlib.contextmanager
def _saying(words: bytes) -> Iterator[str]:
    def talk(connection: socket.socket) -> None:
        connection.recv(65_536)
        connection.sendall(words)

    with listening(talk) as port:
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def _answering(error: bytes) -> Iterator[str]:
    """Answer every command of Redis with an error."""

    def talk(connection: socket.socket) -> None:
        while commands := connection.recv(65_536):
            connection.sendall(error * len(re.findall(rb"^\*\d+\r$", commands, re.MULTILINE)))

    with listening(talk) as port:
        yield f"127.0.0.1:{port}"


@contextlib.contextmanager
def _untrusted() -> Iterator[str]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    trustme.CA().issue_cert("127.0.0.1").configure_cert(context)

    def talk(connection: socket.socket) -> None:
        context.wrap_socket(connection, server_side=True).close()

    with listening(talk) as port:
        yield f"127.0.0.1:{port}"


def _status(number: int) -> Callable[[], contextlib.AbstractContextManager[str]]:
    head = f"HTTP/1.1 {number} Words\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    return lambda: _saying(head.encode())


Failing = tuple[str, Callable[[], contextlib.AbstractContextManager[str]], Failure]
"""A scheme, plain or with TLS; a context that yields the host and port; and the cause."""

PLAIN, TLS = "plain", "tls"

OF_CONNECTIONS: dict[str, Failing] = {
    "a closed port": (PLAIN, _nobody, Failure.REFUSED),
    "an unknown name": (PLAIN, _unknown, Failure.UNKNOWN_NAME),
    "a silent server": (PLAIN, _silent, Failure.TIMEOUT),
    "a server that hangs up": (PLAIN, lambda: _saying(b""), Failure.BROKEN),
    "an untrusted certificate": (TLS, _untrusted, Failure.UNTRUSTED),
    "a server without TLS": (TLS, lambda: _saying(b"HTTP/1.1 400 Bad Request\r\n\r\n"), Failure.TLS),
}
"""Failures that any client can meet."""

OF_HTTP: dict[str, Failing] = {
    "another protocol": (PLAIN, lambda: _saying(b"220 mail.example.com ESMTP\r\n"), Failure.NOT_HTTP),
    "a redirect": (PLAIN, _status(302), Failure.REDIRECT),
    "a wrong key": (PLAIN, _status(401), Failure.KEY),
    "a wrong path": (PLAIN, _status(404), Failure.NOT_FOUND),
    "a limit": (PLAIN, _status(429), Failure.TOO_MANY),
    "an error": (PLAIN, _status(500), Failure.INTERNAL),
    "a proxy without a collector": (PLAIN, _status(502), Failure.GATEWAY),
    "a collector without a store": (PLAIN, _status(503), Failure.UNAVAILABLE),
    "a teapot": (PLAIN, _status(418), Failure.STATUS),
}
"""Failures that clients of HTTP can meet."""

OF_REDIS: dict[str, Failing] = {
    "a password": (PLAIN, lambda: _answering(b"-NOAUTH Authentication required.\r\n"), Failure.PASSWORD),
    "a wrong password": (PLAIN, lambda: _answering(b"-WRONGPASS invalid username-password pair\r\n"), Failure.PASSWORD),
    "a server that loads": (PLAIN, lambda: _answering(b"-LOADING loading the dataset\r\n"), Failure.LOADING),
    "a full disk": (PLAIN, lambda: _answering(b"-MISCONF Errors writing to the AOF file\r\n"), Failure.DISK),
}
"""Failures that clients of Redis and Valkey can meet."""
