"""The files of a rehearsal: tallies that every command reads, and the page of a report."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Registry
from estimator.commands.cli import command
from estimator.rehearsal.ground_truth import from_shares
from estimator.rehearsal.rehearsal import rehearse
from estimator.report.report import make_report
from estimator.tallies import Tally, decode, encode
from tests.golden.outputs import METRICS
from tests.support.devices.definitions import BOOLEAN, NUMBER, registry_text

DEVICES = 300


@pytest.mark.long
def test_tallies_of_every_kind_are_read_again_and_tell_what_the_rehearsal_told() -> None:
    registry, kept = Registry.load(METRICS), list[Tally]()
    rehearsed = rehearse(from_shares(registry, DEVICES, None), seed=1, keep=kept.append).metrics
    assert {each.metric for each in kept} == {each.metric for each in rehearsed}
    reported = make_report(registry, decode(encode(kept).splitlines())).metrics
    for told in rehearsed:
        (found,) = (each for each in reported if each.metric == told.metric)
        assert found.reports == told.reports == DEVICES
        for group in told.groups:
            of_report = found.figures(group.statistic)
            assert (list(of_report.labels), of_report.unbiased.tolist()) == (
                list(group.figures.labels),
                group.figures.unbiased.tolist(),
            )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    asked = registry_text(dark_mode=BOOLEAN, startup_ms=NUMBER)
    (tmp_path / "metrics.toml").write_text(asked, encoding="utf-8")
    (tmp_path / "answers.csv").write_text("dark_mode,startup_ms\nyes,20\nno,30\n", encoding="utf-8")
    return tmp_path


def run(folder: Path, *words: str) -> Result:
    files = ("--registry", str(folder / "metrics.toml"), "--csv", str(folder / "answers.csv"), "--repeat", "500")
    return CliRunner().invoke(command, ["rehearse", *files, "--seed", "3", *words])


def test_a_rehearsal_writes_the_page_of_a_report_and_tallies_for_report(folder: Path) -> None:
    page, out = folder / "page.html", folder / "out.ndjson"
    plain, written = run(folder), run(folder, "--html", str(page), "--tallies-out", str(out))
    assert written.exit_code == 0, written.output
    assert written.stdout == plain.stdout, "files change no estimate"
    assert "Rehearsal of" in page.read_text(encoding="utf-8")
    again = folder / "report.html"
    words = ("report", "--registry", str(folder / "metrics.toml"), "--tallies", str(out), "--output", str(again))
    assert CliRunner().invoke(command, words).exit_code == 0
    rehearsed, reported = (path.read_text(encoding="utf-8") for path in (page, again))
    assert rehearsed.replace("Rehearsal of ", "") == reported
    assert run(folder, "--html", str(page)).exit_code == 0, "a page is written again"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--tallies-out", "answers.csv"), "is an input"),
        (("--html", "metrics.toml"), "is an input"),
        (("--html", "x", "--tallies-out", "x"), "name two files"),
        (("--html", "notes.txt"), "was not written by a report"),
        (("--tallies-out", "notes.txt"), "may contain tallies of real reports; name a new file"),
    ],
)
def test_a_file_that_would_be_lost_is_refused(folder: Path, words: tuple[str, ...], said: str) -> None:
    (folder / "notes.txt").write_text("notes", encoding="utf-8")
    result = run(folder, *(word if word.startswith("--") else str(folder / word) for word in words))
    assert (result.exit_code, result.stdout) == (2, "")
    assert said in " ".join(result.stderr.split())
    assert (folder / "notes.txt").read_text(encoding="utf-8") == "notes"
