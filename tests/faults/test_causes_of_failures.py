"""Every client names why a server cannot be used, and one thing to do about it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from client_sdk.protocol.wire.failure import Failure, failure_of
from client_sdk.sending import transport
from client_sdk.sending.responses import explain, judge
from collector.errors import StoreUnavailableError
from collector.redis_servers import connections
from collector.relay import forward
from collector.store.redis_store import RedisStore
from estimator.errors import TalliesError
from estimator.fetch import fetch
from tests.support.services.failing import OF_CONNECTIONS, OF_HTTP, OF_REDIS, PLAIN, Failing
from tests.support.services.small_disks import fill, mounted

OF_THE_WEB = OF_CONNECTIONS | OF_HTTP
OF_STORES = {name: case for name, case in (OF_CONNECTIONS | OF_REDIS).items() if name != "a server that hangs up"}

TIMEOUT_S = 0.5


@contextlib.contextmanager
def url_of(case: Failing, plain: str, by_tls: str) -> Iterator[str]:
    kind, server, _ = case
    with server() as address:
        yield f"{plain if kind == PLAIN else by_tls}://{address}"


def require(text: str | None, failure: Failure) -> None:
    """Fail unless a sentence gives this cause with its advice, and no other."""
    assert text is not None
    said = [each for each in Failure if each.what in text]
    assert said == [failure], text
    assert text.endswith(failure.advice)


@pytest.mark.parametrize("name", OF_THE_WEB)
def test_the_sdk_says_why_its_reports_wait(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "READ_TIMEOUT_S", TIMEOUT_S)
    case = OF_THE_WEB[name]
    with url_of(case, "http", "https") as url:
        reply = transport.HttpTransport(url, "key", allow_plain_http=True).post(b"{}")
    said = explain(reply, judge(reply, 1, 0))
    require(said, case[2])
    assert url not in str(said)


@pytest.mark.parametrize("name", OF_THE_WEB)
def test_a_relay_says_why_it_cannot_pass_uploads_on(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "READ_TIMEOUT_S", TIMEOUT_S)
    case = OF_THE_WEB[name]
    with url_of(case, "http", "https") as url, pytest.raises(forward.CollectorUnavailableError) as caught:
        forward.Forwarder(url, "key-of-the-relay").post(b"")
    require(str(caught.value), case[2])


@pytest.mark.parametrize("name", OF_THE_WEB)
def test_the_estimator_says_why_it_has_no_tallies(name: str) -> None:
    case = OF_THE_WEB[name]
    with url_of(case, "http", "https") as url, pytest.raises(TalliesError) as caught:
        fetch(url, "token", preliminary=False, timeout_s=TIMEOUT_S)
    if case[2] is Failure.KEY:
        assert "rejects the read token; set HEARSAY_READ_TOKEN" in str(caught.value)
    else:
        require(str(caught.value), case[2])


@pytest.mark.parametrize("name", OF_STORES)
def test_a_collector_says_why_it_cannot_use_its_store(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "ANSWER_TIMEOUT_S", TIMEOUT_S)
    case = OF_STORES[name]
    with url_of(case, "redis", "rediss") as url:
        store = RedisStore(url)
        with pytest.raises(StoreUnavailableError) as caught:
            store.require_writable()
        store.disconnect()
    require(str(caught.value), case[2])


def test_a_valkey_that_asks_for_a_password_is_not_said_to_be_down(embedded_url: str) -> None:
    with redis.Redis.from_url(embedded_url) as client:
        client.config_set("requirepass", "sesame")
        try:
            store = RedisStore(embedded_url)
            with pytest.raises(StoreUnavailableError) as caught:
                store.require_writable()
            store.disconnect()
        finally:
            client.config_set("requirepass", "")
    require(str(caught.value), Failure.PASSWORD)
    assert "running" not in str(caught.value)


@pytest.mark.system
def test_a_full_disk_is_named_by_whatever_writes_to_it(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk") as disk:
        fill(disk)
        with pytest.raises(OSError, match="No space left") as caught:
            (disk / "more").write_bytes(b"x" * 65_536)
    assert failure_of(caught.value) is Failure.DISK
