"""The relay's HTTP as it is on the wire, against a real socket."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from collector.relay import forward
from collector.relay.forward import CollectorUnavailableError, Forwarder
from tests.support.devices.answering import AnsweringServer, answering_server
from tests.support.devices.dripping import BEGINNINGS, dripping_server
from tests.support.services.outer_environment import PROXY_VARIABLES, without_proxies
from tests.support.services.processes import free_port, wait_until

KEY = "key-canary"


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with answering_server(b"answer\n") as server:
        yield server


def test_a_batch_travels_with_the_key_and_nothing_else(server: AnsweringServer) -> None:
    assert Forwarder(f"{server.url}/below/", KEY).post(b"line\n") == b"answer\n"
    ((path, headers, body),) = server.requests
    assert (path, body) == ("/below/v1/uploads", b"line\n")
    assert headers == {
        "Host": server.url.removeprefix("http://"),
        "Accept": "application/x-ndjson",
        "Accept-Encoding": "identity",
        "Authorization": f"Bearer {KEY}",
        "Content-Type": "application/x-ndjson",
        "User-Agent": "hearsay-relay",
        "Content-Length": "5",
    }


def test_the_registry_is_read_without_the_key(server: AnsweringServer) -> None:
    assert Forwarder(f"{server.url}/below/", KEY).get_registry() == b"answer\n"
    ((path, headers, body),) = server.requests
    assert (path, body) == ("/below/v1/registry", b"")
    assert headers == {
        "Host": server.url.removeprefix("http://"),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "User-Agent": "hearsay-relay",
    }


def test_no_cookie_is_kept_and_no_password_is_taken_from_netrc(
    server: AnsweringServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password something\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    server.headers = {"Set-Cookie": "relay=42"}
    forwarder = Forwarder(server.url, KEY)
    forwarder.post(b"")
    forwarder.post(b"")
    assert all("Cookie" not in headers for _, headers, _ in server.requests)
    assert {headers["Authorization"] for _, headers, _ in server.requests} == {f"Bearer {KEY}"}


@pytest.mark.parametrize("variable", PROXY_VARIABLES)
def test_nothing_for_a_collector_on_this_machine_goes_to_a_proxy(
    server: AnsweringServer, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    without_proxies(monkeypatch)
    monkeypatch.setenv(variable, server.url)
    with pytest.raises(CollectorUnavailableError):
        Forwarder(f"http://localhost:{free_port()}", KEY).post(b"line\n")
    assert server.requests == []


@pytest.mark.parametrize(
    ("status", "is_refusal"),
    [(400, False), (401, True), (403, True), (404, True), (413, False), (503, False), (307, False)],
)
def test_a_status_that_is_not_ok_is_no_answer_and_redirects_are_not_followed(
    server: AnsweringServer, status: int, *, is_refusal: bool
) -> None:
    server.status, server.headers = status, {"Location": f"{server.url}/elsewhere"}
    with pytest.raises(CollectorUnavailableError, match=str(status)) as caught:
        Forwarder(server.url, KEY).post(b"")
    assert caught.value.is_refusal is is_refusal
    assert KEY not in str(caught.value)
    assert len(server.requests) == 1


def test_an_answer_without_end_is_none(server: AnsweringServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "MAX_ANSWER_BYTES", 6)
    monkeypatch.setattr(forward, "MAX_REGISTRY_BYTES", 6)
    with pytest.raises(CollectorUnavailableError, match="too long"):
        Forwarder(server.url, KEY).post(b"")
    with pytest.raises(CollectorUnavailableError, match="too long"):
        Forwarder(server.url, KEY).get_registry()


@pytest.mark.parametrize("drips", BEGINNINGS)
def test_an_answer_that_drips_is_given_up_at_the_deadline(drips: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forward, "DEADLINE_S", 0.5)
    with dripping_server(BEGINNINGS[drips]) as server:
        scheme = "https" if drips == "handshake" else "http"
        with pytest.raises(CollectorUnavailableError, match=r"incomplete after 0\.5 seconds"):
            Forwarder(f"{scheme}://127.0.0.1:{server.port}", KEY).post(b"line\n")
        wait_until(lambda: server.gone == 1, what="its connection to end")


def test_where_nobody_listens_the_error_names_no_address() -> None:
    port = free_port()
    with pytest.raises(CollectorUnavailableError, match="nothing listens at its address") as caught:
        Forwarder(f"http://127.0.0.1:{port}", KEY).post(b"")
    assert str(port) not in str(caught.value)
    assert not caught.value.is_refusal
