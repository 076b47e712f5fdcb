"""The reporting job for programs: from paths or a collector, by dates, shown in words."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import estimator
from client_sdk.protocol import Registry, WindowError
from estimator import api
from estimator.fetch import Fetched
from estimator.results.estimate import Estimate, Figures
from tests.support.devices.definitions import BOOLEAN, CATEGORY, registry_text
from tests.support.estimates.pages import day, tallies

REGISTRY_TEXT = registry_text(dark_mode=BOOLEAN, os=CATEGORY | {"values": ["b", "<b>bold</b>"]})
REGISTRY = Registry.parse(REGISTRY_TEXT)
LINES = tallies(REGISTRY, range(3))
SECRET = "sesame"  # noqa: S105 a test's token


class _Collector(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        is_known = self.headers["Authorization"] == f"Bearer {SECRET}"
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Length", str(len(LINES) if is_known else 0))
        self.send_header("Hearsay-Snapshot", "2026-11-20T12:00:00Z")
        self.end_headers()
        self.wfile.write(LINES if is_known else b"")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the overridden signature
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Collector) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metrics.toml").write_text(REGISTRY_TEXT)
    (tmp_path / "tallies.ndjson").write_bytes(LINES)
    return tmp_path


def test_paths_are_as_good_as_what_they_hold(folder: Path) -> None:
    registry, lines = folder / "metrics.toml", folder / "tallies.ndjson"
    report = estimator.estimate(REGISTRY, lines)
    assert len(report.metrics) == 6
    assert estimator.estimate(registry, lines) == estimator.estimate(str(registry), str(lines)) == report


def test_a_collector_gives_the_same_tallies_and_says_when_it_read_them(collector: str, folder: Path) -> None:
    fetched = estimator.estimate(folder / "metrics.toml", collector=collector, token=SECRET)
    assert fetched.metrics == estimator.estimate(REGISTRY, folder / "tallies.ndjson").metrics
    assert fetched.snapshot_at is not None
    with pytest.raises(estimator.TalliesError, match="rejects the read token"):
        estimator.estimate(REGISTRY, collector=collector, token="other")  # noqa: S106 as above


@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ({}, "give either tallies or collector"),
        ({"tallies": [], "collector": "http://127.0.0.1:9"}, "give either tallies or collector"),
        ({"collector": "http://127.0.0.1:9"}, "set HEARSAY_READ_TOKEN"),
    ],
)
def test_a_source_is_one_of_two(source: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        estimator.estimate(REGISTRY, **source)


def test_windows_are_chosen_by_dates(folder: Path) -> None:
    first = date.fromisoformat(day(1))
    chosen = estimator.estimate(REGISTRY, folder / "tallies.ndjson", first=first, last=first)
    assert {metric.window for metric in chosen.metrics} == {day(1)}
    assert chosen == estimator.estimate(REGISTRY, folder / "tallies.ndjson", first=day(1), last=day(1))


def test_a_summary_has_a_line_for_each_metric(folder: Path) -> None:
    report = estimator.estimate(REGISTRY, folder / "tallies.ndjson")
    first, second, *_ = report.summary().splitlines()
    assert first.startswith(f"dark_mode, {day(2)}: About ")
    assert first.endswith(" say yes. (4,000 reports)")
    assert second.startswith(f"os, {day(2)}: ")
    assert estimator.estimate(REGISTRY, []).summary() == "There is nothing to report."


def test_a_notebook_shows_a_table_in_which_names_are_nothing_but_text(folder: Path) -> None:
    table = estimator.estimate(REGISTRY, folder / "tallies.ndjson")._repr_html_()
    assert "<thead><tr><th>question</th>" in table
    assert table.count("<tr>") == 3
    assert "&lt;b&gt;bold" in table
    assert "<b>" not in table


def test_shares_are_printed_with_their_intervals() -> None:
    shares = Figures.from_rows(
        [Estimate(0.3, 0.02, 0.26, 0.34).labeled("dark"), Estimate(0.7, 0.02, 0.66, 0.74).labeled("light")]
    )
    assert repr(shares) == "Figures(dark 0.26 to 0.34, light 0.66 to 0.74)"


def test_a_token_is_taken_with_the_end_of_its_line_and_from_a_file(
    collector: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert estimator.estimate(REGISTRY, collector=collector, token=f"{SECRET}\n").metrics
    (tmp_path / "token").write_text(SECRET)
    monkeypatch.delenv("HEARSAY_READ_TOKEN", raising=False)
    monkeypatch.setenv("HEARSAY_READ_TOKEN_FILE", str(tmp_path / "token"))
    assert estimator.estimate(REGISTRY, collector=collector).metrics


@pytest.mark.parametrize("ending", ["\nX-Other: header", "\u20ac", "\0"])
def test_a_token_that_cannot_stand_in_a_header_is_refused_and_not_shown(ending: str) -> None:
    with pytest.raises(ValueError, match="one line of ASCII") as caught:
        estimator.estimate(REGISTRY, collector="http://127.0.0.1:9", token=SECRET + ending)
    assert SECRET not in str(caught.value)


def test_other_machines_are_read_by_tls_unless_the_caller_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "fetch", lambda *_, **__: Fetched([]))
    far = "http://telemetry.invalid"
    with pytest.raises(ValueError, match="anybody on the network path could read the token"):
        estimator.estimate(REGISTRY, collector=far, token=SECRET)
    assert estimator.estimate(REGISTRY, collector=far, token=SECRET, allow_plain_http=True).metrics == ()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"candidates": "zebra"}, "candidates must be a list of texts"),
        ({"ranges": ("startup_ms", 1, 2)}, "ranges must be a list of metrics, each with two numbers"),
        ({"ranges": [("startup_ms", "1", "2")]}, "ranges must be a list"),
        ({"first": 20261120}, "first must be the name of a window"),
        ({"last": 20261120}, "last must be the name of a window"),
    ],
)
def test_what_is_of_a_wrong_type_is_named(arguments: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        estimator.estimate(REGISTRY, [], **arguments)


def test_windows_in_the_wrong_order_are_refused() -> None:
    with pytest.raises(WindowError, match="exchange the two"):
        estimator.estimate(REGISTRY, [], first="2026-11-03", last="2026-11-01")
