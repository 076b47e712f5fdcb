"""Whatever is wrong with tallies, collector or target, every form says what to do, and a good
report stays in place.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from estimator import load_report
from estimator.commands.cli import command
from tests.support.estimates.tallies import REGISTRY_TEXT, line

FORMS = ("table", "json", "csv", "openmetrics", "parquet", "html")
GOOD = line("dark_mode", [400, 600])
OF_ANOTHER_REGISTRY = line("dark_mode", [400, 600], edition="0" * 12)
"""Older or newer than the registry: an edition says only that it is another one."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "metrics.toml").write_text(REGISTRY_TEXT)
    (tmp_path / "tallies.ndjson").write_bytes(GOOD)
    return tmp_path


def target(folder: Path, form: str) -> Path:
    return folder / f"report.{form}"


def _report(folder: Path, form: str, *source: str) -> Result:
    places = source or ("--tallies", str(folder / "tallies.ndjson"))
    into = ("--format", form, "--output", str(target(folder, form)))
    words = ["report", "--registry", str(folder / "metrics.toml"), *places, *into]
    return CliRunner(env={"HEARSAY_READ_TOKEN": "sesame"}).invoke(command, words)


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("content", "said", "status"),
    [
        (b"", "", 3),
        (OF_ANOTHER_REGISTRY, "; use the same registry and history as the collector", 1),
        (line("dark_mode", [1, 2], closed=False), "; add --preliminary to include it", 3),
        (GOOD.replace(b"dark_mode", b"gone"), "the registry defines no such metric; use the same registry", 1),
    ],
)
def test_nothing_to_report_is_a_report_in_every_form(
    folder: Path, form: str, content: bytes, said: str, status: int
) -> None:
    (folder / "tallies.ndjson").write_bytes(content)
    result = _report(folder, form)
    assert result.exit_code == status, result.output
    assert said in result.stderr
    assert target(folder, form).stat().st_size > 0
    if form == "json":
        assert load_report(target(folder, form)).metrics == ()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("counts", [[0, 0], [1, 0]])
def test_no_report_and_one_report_are_reported_in_every_form(folder: Path, form: str, counts: list[int]) -> None:
    (folder / "tallies.ndjson").write_bytes(line("dark_mode", counts) + line("os", [*counts, 0, 0]))
    result = _report(folder, form)
    assert (result.exit_code, target(folder, form).exists()) == (0, True)


@pytest.fixture(params=FORMS)
def form(request: pytest.FixtureRequest, folder: Path) -> Iterator[str]:
    """A form whose good report must stay in place."""
    form: str = request.param
    _report(folder, form)
    before = target(folder, form).read_bytes()
    yield form
    assert target(folder, form).read_bytes() == before
    assert not list(folder.glob(".*.part"))


def test_tallies_that_are_none_leave_the_good_report_in_place(folder: Path, form: str) -> None:
    (folder / "tallies.ndjson").write_bytes(GOOD + b"{}\n")
    result = _report(folder, form)
    assert (result.exit_code, "line 2 is not a tally" in result.stderr) == (1, True)


def test_a_collector_that_is_down_leaves_the_good_report_in_place(folder: Path, form: str) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        result = _report(folder, form, "--collector", f"http://127.0.0.1:{taken.getsockname()[1]}")
    assert (result.exit_code, "nothing listens at its address" in result.stderr) == (1, True)


def test_a_disk_that_is_full_leaves_the_good_report_in_place(
    folder: Path, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    result = _report(folder, form)
    assert result.exit_code == 1
    assert "cannot be written: No space left on device; name a file" in result.stderr
