"""TLS in front of a store: certificates of the tests' own authority, and a TLS terminator."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import trustme

LONGEST_PIECE = 65_536


@dataclass(frozen=True)
class Certificates:
    """Files of certificates and keys.

    Attributes:
        authority: the authority's certificate.
        server: a certificate for 127.0.0.1 with its key.
        elsewhere: a certificate for another host, with its key.
        client: a certificate for a client, with its key.

    """

    authority: Path
    server: Path
    elsewhere: Path
    client: Path

    @classmethod
    def issued_in(cls, folder: Path) -> Certificates:
        """Make certificates in a folder."""
        authority = trustme.CA()
        authority.cert_pem.write_to_path(str(folder / "authority.pem"))
        for name in ("127.0.0.1", "elsewhere.example.com", "client.example.com"):
            authority.issue_cert(name).private_key_and_cert_chain_pem.write_to_path(str(folder / f"{name}.pem"))
        return cls(
            folder / "authority.pem",
            folder / "127.0.0.1.pem",
            folder / "elsewhere.example.com.pem",
            folder / "client.example.com.pem",
        )


@contextlib.contextmanager
def end_of_tls(certificates: Certificates, certificate: Path, store: str) -> Iterator[int]:
    """Terminate TLS in front of a store's Unix socket, and yield the port.

    Clients must show a certificate.
    """
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certificates.authority))
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(certificate)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=_serve, args=(listener, context, store), daemon=True).start()
        yield listener.getsockname()[1]
        listener.shutdown(socket.SHUT_RDWR)


def _serve(listener: socket.socket, context: ssl.SSLContext, store: str) -> None:
    with contextlib.suppress(OSError):
        while True:
            plain, _ = listener.accept()
            threading.Thread(target=_pass_on, args=(plain, context, store), daemon=True).start()


def _pass_on(plain: socket.socket, context: ssl.SSLContext, store: str) -> None:
    with (
        contextlib.suppress(OSError),
        plain,
        context.wrap_socket(plain, server_side=True) as outer,
        socket.socket(socket.AF_UNIX) as inner,
    ):
        inner.connect(store)
        back = threading.Thread(target=_copy, args=(inner, outer), daemon=True)
        back.start()
        _copy(outer, inner)
        inner.shutdown(socket.SHUT_RDWR)
        back.join()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while piece := source.recv(LONGEST_PIECE):
            sink.sendall(piece)
