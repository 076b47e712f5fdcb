"""The real nginx with the shipped configuration, and devices, each with its own address."""

from __future__ import annotations

import contextlib
import http.client
import itertools
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

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

SERVER = "server collector:8080 max_conns=64 max_fails=0 resolve;"
SERVER_HERE = "server {} max_conns=64 max_fails=0;"

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

    def raw_answer(self, request: bytes, *, address: str) -> Answer:
        """Send bytes, which need not be HTTP, and return the answer."""
        with self.connection(address) as connection:
            connection.sendall(request)
            answer = http.client.HTTPResponse(connection)
            answer.begin()
            return answer.status, dict(answer.headers), answer.read()

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


@dataclass
class Sites:
    """A running nginx with a site for each app.

    Attributes:
        proxy: what serves HTTPS, on the loopback addresses of IPv4 and IPv6.
        plain_port: the port of HTTP.

    """

    proxy: Proxy
    plain_port: int


@contextlib.contextmanager
def running_proxy(
    collectors: Sequence[str], certificates: Certificates, port: int | None = None, *, read_timeout: str = "12s"
) -> Iterator[Proxy]:
    """Run nginx in front of collectors, with the shipped files.

    Only ports, addresses and paths are changed in them, and how long nginx waits for an answer.
    """

    def write(folder: Path, port: int) -> None:
        write_configuration(folder, port, collectors, certificates, read_timeout)

    with _running(write, certificates.authority, port) as proxy:
        yield proxy


@contextlib.contextmanager
def running_sites(nginx: Path, authority: Path) -> Iterator[Sites]:
    """Run Debian's nginx with the files of an installation; only ports and paths are changed.

    Args:
        nginx: stands for /etc/nginx; the folders letsencrypt and www below it stand for
            /etc/letsencrypt and /var/www/html.
        authority: the certificate of the authority of all sites.

    """
    plain = free_port()

    def write(folder: Path, port: int) -> None:
        changes = {
            "listen 80;": f"listen 127.0.0.1:{plain};",
            "listen [::]:80;": f"listen [::1]:{plain};",
            "listen 443 ": f"listen 127.0.0.1:{port} ",
            "listen [::]:443 ": f"listen [::1]:{port} ",
            "/etc/letsencrypt/": f"{folder}/letsencrypt/",
            "/var/www/html": f"{folder}/www",
        }
        _as_installed(folder, nginx, changes)

    with _running(write, authority) as proxy:
        yield Sites(proxy, plain)


@contextlib.contextmanager
def _running(write: Callable[[Path, int], None], authority: Path, port: int | None = None) -> Iterator[Proxy]:
    with tempfile.TemporaryDirectory(prefix="hearsay-nginx-") as name:
        folder, port = Path(name), port or free_port()
        write(folder, port)
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
            yield Proxy(port, folder, authority, process)
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def write_configuration(
    folder: Path, port: int, collectors: Sequence[str], certificates: Certificates, read_timeout: str
) -> None:
    """Write the shipped configuration for this machine."""
    pair = folder / "pair.pem"
    pair.write_bytes(certificates.server.read_bytes())
    changes = {
        "nginx.conf": {
            " /tmp/": f" {folder}/",
            "listen 8443 ssl;": f"listen 127.0.0.1:{port} ssl;",
            "/run/secrets/tls_certificate;": f"{pair};",
            "/run/secrets/tls_key;": f"{pair};",
        },
        # Debian's nginx does not follow names: those that Docker would say stand here
        "upstream.conf": {
            SERVER: "\n    ".join(SERVER_HERE.format(urlsplit(url).netloc) for url in collectors),
            "proxy_read_timeout 12s": f"proxy_read_timeout {read_timeout}",
        },
        "hearsay.http.conf": {},
        "hearsay.server.conf": {},
    }
    for file, replaced in changes.items():
        (folder / file).write_text(_changed(SHIPPED / file, replaced), encoding="utf-8")


def _as_installed(folder: Path, nginx: Path, changes: Mapping[str, str]) -> None:
    """Copy the files of an installed nginx to the folder that it may write, changed for here."""
    shutil.copytree(nginx, folder, dirs_exist_ok=True, symlinks=True)
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    temporary = " ".join(f"{kind}_temp_path {folder}/{kind};" for kind in kinds)
    main = {"user www-data;": "", "/run/nginx.pid": f"{folder}/pid", "/etc/nginx/": f"{folder}/"}
    main |= {"/var/log/nginx/": f"{folder}/", "http {": f"http {{ {temporary}"}
    (folder / "nginx.conf").write_text(_changed(nginx / "nginx.conf", main), encoding="utf-8")
    for site in (folder / "sites-enabled").iterdir():
        site.write_text(_changed(site, changes), encoding="utf-8")


def _changed(file: Path, changes: Mapping[str, str]) -> str:
    """Return a shipped text with changes. Every text to be changed must exist."""
    text = file.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text, (file, old)
        text = text.replace(old, new)
    return text


def _give_away(folder: Path) -> None:
    if os.geteuid() == 0:
        for path in (folder, *folder.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
