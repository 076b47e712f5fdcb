"""A report that is drawn again and again.

Preliminary figures are marked, a collector that is down is waited for, and Ctrl-C ends it.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Registry
from client_sdk.protocol.registry.registry import in_trial
from estimator.commands.cli import command
from estimator.commands.watch import Watch
from estimator.errors import CollectorDownError, TalliesError
from tests.support.estimates.tallies import REGISTRY_TEXT, line
from tests.support.services.processes import START_DEADLINE_S, wait_until

TOKEN = "sesame"  # noqa: S105 a test's token
NOON = 1_795_262_400.0
"""2026-11-21, 12:00 UTC."""


class Enough(Exception):  # noqa: N818 it is no error
    """Ends a watch that would go on."""


def pictures(looks: list[Callable[[], str]]) -> list[str]:
    """Return what is shown for a number of looks, a minute apart."""
    shown: list[str] = []
    waits: list[float] = []
    left = iter(looks)

    def wait(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == len(looks):
            raise Enough

    def look() -> str:
        return next(left)()

    watch = Watch(look, shown.append, wait, lambda: NOON + sum(waits), 60.0)
    with pytest.raises(Enough):
        watch.run()
    assert waits == [60.0] * len(looks)
    return shown


def down() -> str:
    raise CollectorDownError("http://a cannot be reached: Connection refused; is the collector running?")


def test_a_picture_says_when_it_was_read_and_when_the_next_one_comes() -> None:
    first, second = pictures([lambda: "one\n", lambda: "two\n"])
    assert first == "one\n\nread at 2026-11-21 12:00:00 UTC; next update in 60 s; press Ctrl-C to end\n"
    assert second.startswith("two\n\nread at 2026-11-21 12:01:00 UTC")


def test_a_collector_that_is_down_meanwhile_leaves_the_last_picture_and_is_asked_again() -> None:
    _, second, third = pictures([lambda: "one\n", down, lambda: "three\n"])
    assert second.startswith("one\n\n2026-11-21 12:01:00 UTC: http://a cannot be reached")
    assert "shown above: the state at 2026-11-21 12:00:00 UTC; next update in 60 s" in second
    assert third.startswith("three\n")


def test_a_collector_that_is_not_up_yet_is_waited_for() -> None:
    first, second = pictures([down, lambda: "two\n"])
    assert "is the collector running?\nnext update in 60 s" in first
    assert second.startswith("two\n")


def test_a_token_that_is_refused_ends_the_watch() -> None:
    def refused() -> str:
        raise TalliesError("refused")

    with pytest.raises(TalliesError, match="refused"):
        Watch(refused, print, lambda _: None, lambda: NOON, 60.0).run()


class _Collector(BaseHTTPRequestHandler):
    """Answers once with an open window, and then not at all for a while."""

    paths: list[str]
    tally = line("dark_mode", [400, 600], closed=False)

    def do_GET(self) -> None:
        self.paths.append(self.path)
        known = self.headers["Authorization"] == f"Bearer {TOKEN}"
        body = self.tally if known else b""
        self.send_response(200 if known else 401)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the overridden signature
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[str]:
    _Collector.paths = []
    with ThreadingHTTPServer(("127.0.0.1", 0), _Collector) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture
def registry(tmp_path: Path) -> Path:
    path = tmp_path / "metrics.toml"
    path.write_text(REGISTRY_TEXT)
    return path


WITH_INTERRUPTS = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("estimator", run_name="__main__")
"""
"""The command, which accepts Ctrl-C even if a shell started these tests in the background."""


@pytest.mark.slow
def test_a_running_collection_is_watched_until_ctrl_c(collector: str, registry: Path, tmp_path: Path) -> None:
    output = tmp_path / "watched.txt"
    words = ("watch", "--registry", str(registry), "--collector", collector)
    with output.open("wb") as sink:
        watching = subprocess.Popen(
            [sys.executable, "-c", WITH_INTERRUPTS, *words],
            stdout=sink,
            stderr=subprocess.STDOUT,
            env={**os.environ, "HEARSAY_READ_TOKEN": TOKEN},
        )
    try:
        wait_until(
            lambda: b"press Ctrl-C to end" in output.read_bytes() or watching.poll() is not None,
            what="the first picture",
        )
        watching.send_signal(signal.SIGINT)
        assert watching.wait(START_DEADLINE_S) == 0
    finally:
        watching.kill()
        watching.wait()
    shown = output.read_text()
    assert "2026-11-20*" in shown
    assert "*: preliminary" in shown
    assert "Traceback" not in shown
    assert "\x1b" not in shown
    assert _Collector.paths == ["/v1/tallies?preliminary=1"]


def _watch(registry: Path, *more: str, token: str = TOKEN) -> Result:
    words = ["watch", "--registry", str(registry), *more]
    return CliRunner(env={"HEARSAY_READ_TOKEN": token}).invoke(command, words)


def test_a_trial_is_watched_with_the_apps_own_registry(
    collector: str, registry: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    edition = in_trial(Registry.load(registry)).metric("dark_mode").edition
    monkeypatch.setattr(_Collector, "tally", line("dark_mode", [400, 600], closed=False, edition=edition))
    monkeypatch.setattr(Watch, "run", lambda self: self.show(self.look()))
    shown = _watch(registry, "--collector", collector).stdout
    assert "1,000 reports" in shown
    assert "skipped" not in shown


def test_a_wrong_token_is_a_plain_error(collector: str, registry: Path) -> None:
    result = _watch(registry, "--collector", collector, token="mellon")  # noqa: S106 a test's token
    assert result.exit_code == 1
    assert "rejects the read token" in result.stderr
    assert "mellon" not in result.output


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        ((), "Missing option '--collector'"),
        (("--tallies", "x"), "No such option '--tallies'"),
        (("--collector", "https://a", "--with", "covariance"), "the format table cannot show these figures"),
        (("--collector", "http://a"), "--collector must be an https:// URL"),
        (("--collector", "https://a", "--every", "1"), "'1' must be a whole number from 10 to 86,400"),
    ],
)
def test_what_cannot_be_watched_is_wrong_usage(registry: Path, more: tuple[str, ...], problem: str) -> None:
    result = _watch(registry, *more)
    assert result.exit_code == 2
    assert problem in result.stderr


def test_tallies_can_come_from_standard_input(registry: Path) -> None:
    words = ["report", "--registry", str(registry), "--tallies", "-", "--format", "json"]
    result = CliRunner().invoke(command, words, input=line("dark_mode", [400, 600]))
    assert json.loads(result.stdout)["metrics"][0]["reports"] == 1000
