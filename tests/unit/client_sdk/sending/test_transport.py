"""HTTP as it is on the wire, against a real socket."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from client_sdk.protocol.wire.failure import Failure
from client_sdk.sending import transport
from client_sdk.sending.responses import Reply
from client_sdk.sending.transport import MAX_REPLY_BYTES, HttpTransport
from tests.support.core.tables import for_each
from tests.support.devices.answering import AnsweringServer, answering_server
from tests.support.devices.dripping import BEGINNINGS, dripping_server
from tests.support.services.outer_environment import PROXY_VARIABLES, without_proxies
from tests.support.services.processes import free_port, wait_until


@pytest.fixture
def server() -> Iterator[AnsweringServer]:
    with answering_server(b"{}") as server:
        yield server


def test_a_request_holds_the_body_and_nothing_that_tells_devices_apart(server: AnsweringServer) -> None:
    assert HttpTransport(f"{server.url}/").post(b'{"upload":1}') == Reply(200, None, b"{}", has_key=False)
    ((path, headers, content),) = server.requests
    assert (path, content) == ("/v1/reports", b'{"upload":1}')
    assert headers == {
        "Host": server.url.removeprefix("http://"),
        "Accept": "application/json",
        "Accept-Encoding": "identity",
        "Content-Type": "application/json",
        "User-Agent": "hearsay",
        "Content-Length": "12",
    }


def test_an_upload_key_is_sent_to_the_collector_and_nowhere_else(server: AnsweringServer) -> None:
    with AnsweringServer(b"") as elsewhere:
        server.status, server.headers = 307, {"Location": elsewhere.url}
        bearer = HttpTransport(server.url, "secret-canary")
        assert bearer.post(b"{}") == Reply(307, None, b"{}", has_key=True)
        assert (server.requests[0][1]["Authorization"], elsewhere.requests) == ("Bearer secret-canary", [])
    assert "secret-canary" not in repr(bearer)


@for_each("key", ["", "secret canary", "secret-canary\n", "secret-c\u00e4nary", "secret-canary\r\nHost: x"])
def test_an_upload_key_that_no_header_can_carry_is_refused_and_not_shown(key: str) -> None:
    with pytest.raises(ValueError, match="printable ASCII") as caught:
        HttpTransport("https://example.com", key)
    assert "nary" not in str(caught.value)


def test_status_and_retry_after_come_back(server: AnsweringServer) -> None:
    server.status, server.headers, server.body = 503, {"Retry-After": "7"}, b"later"
    assert HttpTransport(server.url).post(b"{}") == Reply(503, "7", b"later", has_key=False)


@pytest.mark.parametrize("variable", PROXY_VARIABLES)
@pytest.mark.parametrize("host", ["127.0.0.1", "LOCALHOST", "[::1]"])
def test_nothing_for_a_collector_on_this_machine_goes_to_a_proxy(
    server: AnsweringServer, monkeypatch: pytest.MonkeyPatch, variable: str, host: str
) -> None:
    without_proxies(monkeypatch)
    monkeypatch.setenv(variable, server.url)
    HttpTransport(f"http://{host}:{free_port()}", "secret-canary").post(b"{}")
    assert server.requests == []


def test_a_collector_elsewhere_is_reached_by_the_proxy_of_the_environment(
    server: AnsweringServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    without_proxies(monkeypatch)
    monkeypatch.setenv("http_proxy", server.url)
    HttpTransport("http://collector.example", allow_plain_http=True).post(b"{}")
    assert [path for path, _, _ in server.requests] == ["http://collector.example/v1/reports"]


def test_no_cookie_is_kept(server: AnsweringServer) -> None:
    server.headers = {"Set-Cookie": "device=42"}
    transport = HttpTransport(server.url)
    transport.post(b"{}")
    transport.post(b"{}")
    assert all("Cookie" not in headers for _, headers, _ in server.requests)


def test_no_netrc_password_is_sent(server: AnsweringServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("machine 127.0.0.1 login somebody password something\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    HttpTransport(server.url).post(b"{}")
    assert "Authorization" not in server.requests[0][1]


@pytest.mark.slow
def test_an_endless_reply_is_read_to_the_bound_only(server: AnsweringServer) -> None:
    server.body = b"x" * (MAX_REPLY_BYTES + 1000)
    reply = HttpTransport(server.url).post(b"{}")
    assert isinstance(reply, Reply)
    assert len(reply.body) == MAX_REPLY_BYTES


def test_a_reply_in_chunks_is_read_to_its_end(server: AnsweringServer) -> None:
    server.pieces = (b'{"accepted":1,', b'"refused":', b"[]}")
    assert HttpTransport(server.url).post(b"{}") == Reply(200, None, b'{"accepted":1,"refused":[]}', has_key=False)


def test_an_endless_reply_in_chunks_is_read_to_the_bound_only(server: AnsweringServer) -> None:
    server.pieces, server.ends = (b"x" * 40_000, b"x" * 40_000), False
    reply = HttpTransport(server.url).post(b"{}")
    assert isinstance(reply, Reply)
    assert len(reply.body) == MAX_REPLY_BYTES


@pytest.mark.parametrize("drips", BEGINNINGS)
def test_a_reply_that_drips_is_none_at_the_deadline(drips: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "DEADLINE_S", 0.5)
    with dripping_server(BEGINNINGS[drips]) as server:
        scheme = "https" if drips == "handshake" else "http"
        assert HttpTransport(f"{scheme}://127.0.0.1:{server.port}").post(b"{}") is Failure.TIMEOUT
        wait_until(lambda: server.gone == 1, what="its connection to end")


def test_an_upload_is_sent_where_no_thread_starts(server: AnsweringServer, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Timer) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Timer, "start", refuse)
    assert HttpTransport(server.url).post(b"{}") == Reply(200, None, b"{}", has_key=False)


def test_an_empty_reply_has_an_empty_body(server: AnsweringServer) -> None:
    server.body = b""
    assert HttpTransport(server.url).post(b"{}") == Reply(200, None, b"", has_key=False)


def test_where_nobody_listens_nothing_comes_back() -> None:
    assert HttpTransport(f"http://127.0.0.1:{free_port()}").post(b"{}") is Failure.REFUSED


@for_each(
    "collector",
    [
        *("", "telemetry.example.com", "ftp://example.com", "https://", "file:///etc", "https:///path"),
        *("https://example.com?", "https://example.com?a=b", "https://example.com#", "https://example.com/#x"),
        *("https://exam ple.com", "https://example.com ", "https://example.com\n", "https://example.com/\t"),
        *("https://example.com:99999", "https://example.com:0", "https://example.com:port", "https://[::1"),
        *("https://example..com", f"https://{'x' * 64}.com"),
        *("https://user:secret@example.com", "https://user@example.com", "https://example.com\\path"),
        *(None, 5, b"https://example.com", Path("https://example.com")),
    ],
)
def test_a_collector_that_is_no_base_address_is_refused_and_not_shown(collector: Any) -> None:
    with pytest.raises(ValueError, match="must be a URL such as https://") as caught:
        HttpTransport(collector)
    assert "secret" not in str(caught.value)


@for_each(
    "collector",
    [
        *("http://localhost:8080", "http://LocalHost", "http://127.0.0.1:9", "http://127.8.9.255", "http://[::1]:8080"),
        *("https://example.com:443/a/b/", "https://[::1]:8443", "https://m\u00fcn.example"),
    ],
)
def test_a_collector_that_is_a_base_address_is_taken(collector: str) -> None:
    assert HttpTransport(collector)._url == f"{collector.rstrip('/')}/v1/reports"


ELSEWHERE = [
    *("http://example.com", "http://10.0.0.1:8080", "http://127.0.0.1.example.com", "http://localhost.example.com"),
    *("http://127.example.com", "http://app.localhost", "http://localhost.", "http://127.0.0.999", "http://127.0.0.09"),
    *("http://127.0.0.\u0661", "http://notlocalhost", "http://[::2]", "http://[::ffff:10.0.0.1]", "HTTP://example.com"),
]


@for_each("collector", ELSEWHERE)
def test_a_collector_elsewhere_is_not_spoken_to_without_tls_unless_that_is_said(collector: str) -> None:
    with pytest.raises(ValueError, match="must be an https:// URL, unless it is on this machine"):
        HttpTransport(collector)
    assert HttpTransport(collector, allow_plain_http=True)._url == f"{collector}/v1/reports"
