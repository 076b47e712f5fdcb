"""Tallies over HTTP: answers of a collector, of something else, and no answer at all."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import click
import pytest

from estimator import fetch as fetch_module
from estimator.commands.report_options import read_token
from estimator.errors import CollectorDownError, TalliesError
from estimator.fetch import _instant, fetch
from tests.support.core.tables import for_each
from tests.support.devices.answering import answering_server
from tests.support.devices.dripping import BEGINNINGS, dripping_server
from tests.support.estimates.tallies import line
from tests.support.services.outer_environment import PROXY_VARIABLES, without_proxies

TOKEN = "sesame"  # noqa: S105 a test's token


class _Collector(BaseHTTPRequestHandler):
    """Answers as a collector does; other paths answer wrongly in ways of their own."""

    def do_GET(self) -> None:
        if self.headers["Authorization"] != f"Bearer {TOKEN}":
            self._answer(401, b"{}")
        elif self.path == "/moved/v1/tallies":
            self.send_response(302)
            self.send_header("Location", "/v1/tallies")
            self.send_header("Content-Length", "0")
            self.end_headers()
        elif self.path.startswith("/narrow/v1/tallies"):
            self._answer(403, b"{}")
        elif self.path == "/page/v1/tallies":
            self._answer(200, b"<html>\n")
        elif self.path == "/cut/v1/tallies":
            self._answer(200, line("dark_mode", [3, 4]), missing=10)
        elif self.path == "/noise/v1/tallies":
            self.wfile.write(b"no HTTP\r\n\r\n")
        elif self.path in ("/v1/tallies", "/v1/tallies?preliminary=1"):
            body = line("dark_mode", [3, 4])
            self._answer(200, body + line("os", [1, 0, 0, 0], closed=False) if "preliminary" in self.path else body)
        else:
            self._answer(404, b"")

    def _answer(self, status: int, body: bytes, missing: int = 0) -> None:
        self.send_response(status)
        if "preliminary" in self.path:
            self.send_header("Hearsay-Snapshot", "2026-11-20T12:00:00Z")
        self.send_header("Content-Length", str(len(body) + missing))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the overridden signature
        """Say nothing."""


@contextmanager
def _serving() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Collector) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def collector() -> Iterator[str]:
    with _serving() as url:
        yield url


@pytest.mark.parametrize("preliminary", [False, True])
def test_tallies_are_read_and_preliminary_ones_only_if_asked_for(collector: str, *, preliminary: bool) -> None:
    fetched = fetch(f"{collector}/" if preliminary else collector, TOKEN, preliminary=preliminary)
    assert [tally.closed for tally in fetched.tallies] == ([True, False] if preliminary else [True])
    assert fetched.snapshot_at == (datetime(2026, 11, 20, 12, tzinfo=UTC) if preliminary else None)


@pytest.mark.parametrize("variable", PROXY_VARIABLES[:2])
def test_the_token_for_a_collector_on_this_machine_goes_to_no_proxy(
    collector: str, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    without_proxies(monkeypatch)
    with answering_server(b"") as proxy:
        monkeypatch.setenv(variable, proxy.url)
        assert len(fetch(collector, TOKEN, preliminary=False).tallies) == 1
        assert proxy.requests == []


NO_INSTANTS = [None, "", "yesterday", "2026-11-20T12:00:00", "0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]


@for_each("text", NO_INSTANTS)
def test_an_instant_that_is_none_is_not_known(text: str | None) -> None:
    assert _instant(text) is None


def test_a_wrong_token_is_reported_and_not_shown(collector: str) -> None:
    with pytest.raises(TalliesError, match="rejects the read token; set HEARSAY_READ_TOKEN") as caught:
        fetch(collector, "mellon", preliminary=False)
    assert "mellon" not in str(caught.value)


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        ("moved", "status 302"),
        ("nowhere", "status 404"),
        ("narrow", "does not let this token read tallies; use a read key$"),
        ("page", "did not answer with tallies: line 1 is not a tally"),
        ("cut", "cannot be used: the connection was interrupted; try again"),
        ("noise", "does not answer in HTTP; correct the port in the URL"),
    ],
)
def test_an_answer_that_is_no_tallies_is_said_to_be_none(collector: str, path: str, problem: str) -> None:
    with pytest.raises(TalliesError, match=problem):
        fetch(f"{collector}/{path}", TOKEN, preliminary=False)


def test_a_key_that_may_not_see_open_windows_is_told_what_it_lacks(collector: str) -> None:
    with pytest.raises(TalliesError, match=r"does not let this token read open windows; .* preliminary = true$"):
        fetch(f"{collector}/narrow", TOKEN, preliminary=True)


def test_a_collector_that_is_down_is_said_to_be_unreachable() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(TalliesError, match=r"nothing listens at its address \(.*\); start it"):
            fetch(f"http://127.0.0.1:{taken.getsockname()[1]}", TOKEN, preliminary=False)


def test_a_collector_that_says_nothing_is_given_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(TalliesError, match="did not answer in time"):
        fetch(f"http://127.0.0.1:{silent.getsockname()[1]}", TOKEN, preliminary=False, timeout_s=0.05)


@pytest.mark.parametrize("drips", BEGINNINGS)
def test_a_collector_that_drips_is_given_up(drips: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch_module, "LIMIT_S", 0.3)
    scheme = "https" if drips == "handshake" else "http"
    with (
        dripping_server(BEGINNINGS[drips]) as server,
        pytest.raises(CollectorDownError, match=r"not sent all tallies within 0\.005 minutes; try again"),
    ):
        fetch(f"{scheme}://127.0.0.1:{server.port}", TOKEN, preliminary=False)


NO_URLS = [
    *("", "localhost:8000", "file:///etc/passwd", "http://", "http://[", "http://a:b", "http://127.0.0.1:9/\u00e4"),
    *("http://user:sesame@127.0.0.1:9", "http://127.0.0.1:9#x", "http://127.0.0.1:9?x=1", "http://127.0.0.1:9/ a"),
]


@for_each("text", NO_URLS)
def test_a_text_that_is_no_url_is_refused(text: str) -> None:
    with pytest.raises(TalliesError, match="must be a URL such as"):
        fetch(text, TOKEN, preliminary=False)


def test_a_token_stands_in_a_variable_or_in_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEARSAY_READ_TOKEN", "sesame")
    assert read_token() == "sesame"
    monkeypatch.delenv("HEARSAY_READ_TOKEN")
    (tmp_path / "token").write_text("mellon\n")
    monkeypatch.setenv("HEARSAY_READ_TOKEN_FILE", str(tmp_path / "token"))
    assert read_token() == "mellon"


@pytest.mark.parametrize(
    ("token", "content", "problem"),
    [
        (None, None, "set HEARSAY_READ_TOKEN"),
        ("", None, "one line of ASCII"),
        ("s\u00e9same", None, "one line of ASCII"),
        (None, b"two\nlines\n", "one line of ASCII"),
        (None, b"\xffsesame", "is not UTF-8 text"),
        ("sesame", b"sesame", "are both set"),
    ],
)
def test_a_token_that_is_none_is_named_and_not_shown(
    token: str | None, content: bytes | None, problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("", token), ("_FILE", None if content is None else str(tmp_path / "token"))):
        monkeypatch.delenv(f"HEARSAY_READ_TOKEN{name}", raising=False)
        if value is not None:
            monkeypatch.setenv(f"HEARSAY_READ_TOKEN{name}", value)
    (tmp_path / "token").write_bytes(content or b"")
    with pytest.raises(click.UsageError, match=problem) as caught:
        read_token()
    assert "same" not in str(caught.value)


def test_a_file_that_is_not_there_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HEARSAY_READ_TOKEN", raising=False)
    monkeypatch.setenv("HEARSAY_READ_TOKEN_FILE", str(tmp_path / "none"))
    with pytest.raises(click.UsageError, match="none cannot be read: No such file"):
        read_token()
