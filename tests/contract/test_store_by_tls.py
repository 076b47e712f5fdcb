"""A store behind TLS is used only if store and collector both show the right certificates."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from collector.errors import StoreUnavailableError
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import judged, upload
from tests.support.services.processes import free_port, wait_until
from tests.support.services.tls import Certificates, end_of_tls

SERVERS = ("an end of TLS before the embedded store", *filter(shutil.which, ("redis-server",)))
"""The embedded store's own program may be built without TLS."""


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates.issued_in(tmp_path_factory.mktemp("certificates"))


@contextmanager
def redis_by_tls(certificates: Certificates, certificate: Path, folder: Path) -> Iterator[int]:
    port = free_port()
    settings = {
        "port": "0",
        "tls-port": str(port),
        "bind": "127.0.0.1",
        "dir": str(folder),
        "save": "",
        "appendonly": "yes",
        "appendfsync": "always",
        "tls-ca-cert-file": str(certificates.authority),
        "tls-cert-file": str(certificate),
        "tls-key-file": str(certificate),
    }
    words = [word for name, value in settings.items() for word in (f"--{name}", value)]
    output = folder / "redis.out"
    with output.open("wb") as sink, subprocess.Popen(["redis-server", *words], stdout=sink) as server:  # noqa: S607 wherever
        wait_until(lambda: b"Ready to accept connections" in output.read_bytes(), what="redis-server")
        yield port
        server.terminate()


@contextmanager
def server(kind: str, certificates: Certificates, certificate: Path, embedded_url: str, folder: Path) -> Iterator[int]:
    """Run a server that asks for certificates and shows one; yield its port."""
    if kind == "redis-server":
        with redis_by_tls(certificates, certificate, folder) as port:
            yield port
    else:
        with end_of_tls(certificates, certificate, embedded_url.removeprefix("unix://")) as port:
            yield port


@pytest.mark.parametrize("kind", SERVERS)
def test_a_store_is_used_by_tls_only_with_the_right_certificates(
    kind: str, certificates: Certificates, embedded_url: str, tmp_path: Path
) -> None:
    own = f"ssl_certfile={certificates.client}&ssl_keyfile={certificates.client}"
    trusted = f"ssl_ca_certs={certificates.authority}"
    with redis.Redis.from_url(embedded_url) as client:
        client.flushall()
    with server(kind, certificates, certificates.server, embedded_url, tmp_path) as port:
        store = RedisStore(f"rediss://127.0.0.1:{port}?{trusted}&{own}")
        store.prepare()
        assert store.count(judged(upload())).verdict.accepted == 1
        store.disconnect()
        require_unreachable(f"rediss://:canary@127.0.0.1:{port}?{own}", "certificate verify failed")
        require_unreachable(f"rediss://:canary@127.0.0.1:{port}?{trusted}")
        require_unreachable(f"redis://:canary@127.0.0.1:{port}")
    with server(kind, certificates, certificates.elsewhere, embedded_url, tmp_path) as port:
        require_unreachable(f"rediss://:canary@127.0.0.1:{port}?{trusted}&{own}", "certificate is not valid for")


def require_unreachable(url: str, reason: str = "") -> None:
    """Fail unless the store is unreachable for that reason, and the password stays hidden."""
    store = RedisStore(url)
    with pytest.raises(StoreUnavailableError, match=f"cannot be used.*{reason}") as caught:
        store.require_writable()
    store.disconnect()
    assert "canary" not in str(caught.value)
