"""The real nginx with the shipped configuration, and devices, each with its own address."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import signal
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from client_sdk.protocol import Upload
from tests.support.services.processes import free_port, listens, wait_until
from tests.support.services.programs import program
from tests.support.services.tls import Certificates

SHIPPED: Final = Path(__file__).resolve().parents[3] / "docker"

NOBODY: Final = 65534
"""The user of nginx if the tests run as root: the shipped configuration must need no rights."""

ANSWER_TIMEOUT_S = 30.0

Answer = tuple[int, Mapping[str, str], bytes]
"""Status, headers and body."""

_hosts = itertools.count(2)


def another_address() -> str:
    """Return an address of this machine that no device of this run has used."""
    number = next(_hosts)
    return f"127.1.{number // 250}.{number % 250 + 1}"


@dataclass
class Proxy:
    """A running nginx.

    Attributes:
        port: the port on which it listens.
        folder: the only folder that it may write.
        authority: the certificate of its certificate authority.
        process: its main process.

    """

    port: int
    folder: Path
    authority: Path
    process: subprocess.Popen[bytes]
    _context: ssl.SSLContext = field(init=False)

    def __post_init__(self) -> None:
        self._context = ssl.create_default_context(cafile=str(self.authority))

    @property
    def url(self) -> str:
        """Its base address."""
        return f"https://127.0.0.1:{self.port}"

    @property
    def said(self) -> str:
        """Its standard output and error."""
        return (self.folder / "said").read_text()

    def connection(self, address: str) -> ssl.SSLSocket:
        """Return a connection from an address."""
        plain = socket.create_connection(("127.0.0.1", self.port), ANSWER_TIMEOUT_S, (address, 0))
        return self._context.wrap_socket(plain, server_hostname="127.0.0.1")

    def ask(
        self, method: str, path: str, body: bytes = b"", *, address: str, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """Send a request, and return the answer."""
        return next(self.answers(method, path, body, address=address, headers=headers))

    def answers(
        self, method: str, path: str, body: bytes = b"", *, address: str, headers: Mapping[str, str] | None = None
    ) -> Iterator[Answer]:
        """Send a request over and over on one connection, as fast as can be; yield the answers."""
        connection = http.client.HTTPSConnection(
            "127.0.0.1", self.port, timeout=ANSWER_TIMEOUT_S, context=self._context, source_address=(address, 0)
        )
        with contextlib.closing(connection):
            while True:
                connection.request(method, path, body, dict(headers or {}))
                answer = connection.getresponse()
                all_of = {name: ", ".join(answer.headers.get_all(name, ())) for name in answer.headers}
                yield answer.status, all_of, answer.read()

    def post(self, _: str, upload: Upload) -> tuple[int, Any]:
        """Post an upload from a new address.

        Returns status and document; status 0 if there was no answer.
        """
        try:
            status, _headers, body = self.ask(
                *("POST", "/v1/reports", upload.encode()),
                address=another_address(),
                headers={"Content-Type": "application/json"},
            )
        except (OSError, http.client.HTTPException):
            return 0, None
        return status, json.loads(body)


@contextlib.contextmanager
def running_proxy(collectors: Sequence[str], certificates: Certificates, port: int | None = None) -> Iterator[Proxy]:
    """Run nginx in front of collectors, with the shipped files.

    Only ports, addresses and paths are changed in them.
    """
    with tempfile.TemporaryDirectory(prefix="hearsay-nginx-") as name:
        folder, port = Path(name), port or free_port()
        write_configuration(folder, port, collectors, certificates)
        command = [program("nginx"), "-e", "stderr", "-p", str(folder), "-c", str(folder / "nginx.conf")]
        identity: dict[str, Any] = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        _give_away(folder)
        subprocess.run([*command, "-t"], check=True, **identity)
        with (folder / "said").open("wb") as said:
            process = subprocess.Popen(
                [*command, "-g", "daemon off;"], stdout=said, stderr=subprocess.STDOUT, **identity
            )
        try:
            wait_until(lambda: process.poll() is not None or listens(port), what="nginx")
            assert process.poll() is None, (folder / "said").read_text()
            yield Proxy(port, folder, certificates.authority, process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def write_configuration(folder: Path, port: int, collectors: Sequence[str], certificates: Certificates) -> None:
    """Write the shipped configuration for this machine. Every text to be changed must exist."""
    pair = folder / "pair.pem"
    pair.write_bytes(certificates.server.read_bytes())
    first, second = collectors if len(collectors) > 1 else (collectors[0], None)
    changes = {
        "nginx.conf": {
            " /tmp/": f" {folder}/",
            "listen 8443 ssl;": f"listen 127.0.0.1:{port} ssl;",
            "/run/secrets/tls_certificate;": f"{pair};",
            "/run/secrets/tls_key;": f"{pair};",
        },
        "upstream.conf": {
            "server 10.201.0.11:8080 ": f"server {first.removeprefix('http://')} ",
            "server 10.201.0.12:8080 ": f"server {second.removeprefix('http://')} " if second else "# ",
        },
    }
    for file, replaced in changes.items():
        text = (SHIPPED / file).read_text(encoding="utf-8")
        for old, new in replaced.items():
            assert old in text, (file, old)
            text = text.replace(old, new)
        (folder / file).write_text(text, encoding="utf-8")


def _give_away(folder: Path) -> None:
    if os.geteuid() == 0:
        for path in (folder, *folder.iterdir()):
            os.chown(path, NOBODY, NOBODY)
