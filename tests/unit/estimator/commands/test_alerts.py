"""report --alert: its lines, its exit status, and what it refuses."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Window
from estimator import archive
from estimator.commands.cli import command
from estimator.formats.json_documents import read_report
from estimator.results.report import EstimateReport
from tests.support.estimates.tallies import REGISTRY_TEXT, line

SOUND = (
    line("dark_mode", [400, 600])
    + line("dark_mode", [600, 400], window="2026-11-19")
    + line("dark_mode", [0, 9000], window="2026-11-21", closed=False)
    + line("os", [300, 300, 200, 200])
    + line("os", [0, 49, 0, 0], window="2026-11-19")
)
UNFIT = line("os", [1, 2, 3, 4], window="2026-11-18", edition="0" * 12)
FIRED, DONE, NOTHING_NEW, PARTLY, USAGE = 5, 0, 3, 4, 2

MOST = "dark_mode.share[yes] > 0.5"
NEVER = "dark_mode.share[yes] > 0.9"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    noon = Window.parse("2026-11-21").starts_at + 43_200
    monkeypatch.setattr("estimator.commands.archive.time", SimpleNamespace(time=lambda: noon))
    (tmp_path / "metrics.toml").write_text(REGISTRY_TEXT)
    (tmp_path / "tallies.ndjson").write_bytes(SOUND)
    return tmp_path


def _run(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command, ["report", *_places(folder), *arguments])


def _keep(folder: Path, *arguments: str) -> Result:
    return CliRunner().invoke(command, ["archive", str(folder / "reports"), *_places(folder), *arguments])


def _places(folder: Path) -> tuple[str, ...]:
    return ("--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies.ndjson"))


def _alerts(text: str) -> list[dict[str, Any]]:
    return [json.loads(each) for each in text.splitlines() if each.startswith("{")]


def test_an_alert_that_fires_is_an_exit_status_and_a_line_for_each_closed_window(folder: Path) -> None:
    result = _run(folder, "--alert", MOST)
    assert result.exit_code == FIRED
    verdicts = _alerts(result.stderr)
    assert [(each["window"], each["fired"]) for each in verdicts] == [("2026-11-19", False), ("2026-11-20", True)]
    fields = ["metric", "window", "figure", "operator", "bound", "estimate", "low", "high", "reports", "fired"]
    assert list(verdicts[1]) == fields
    assert verdicts[1]["estimate"] == pytest.approx(0.7)
    assert verdicts[1]["low"] > 0.5


def test_an_alert_changes_nothing_on_stdout(folder: Path) -> None:
    for form in ("table", "json", "csv"):
        plain = _run(folder, "--format", form)
        assert _run(folder, "--format", form, "--alert", MOST, "--alert", NEVER).stdout == plain.stdout
    assert plain.exit_code == DONE


def test_an_alert_that_does_not_fire_leaves_the_status(folder: Path) -> None:
    quiet = _run(folder, "--alert", NEVER)
    assert (quiet.exit_code, [each["fired"] for each in _alerts(quiet.stderr)]) == (DONE, [False, False])
    before = _run(folder, "--alert", MOST, "--to", "2026-11-19")
    assert (before.exit_code, len(_alerts(before.stderr))) == (DONE, 1)
    nothing = _run(folder, "--alert", MOST, "--to", "2020-01-01")
    assert (nothing.exit_code, _alerts(nothing.stderr)) == (NOTHING_NEW, [])


def test_many_alerts_and_windows_have_a_line_each(folder: Path) -> None:
    result = _run(folder, "--alert", MOST, "--alert", NEVER, "--alert", "os.share[=windows] < 0.9")
    assert result.exit_code == FIRED
    assert [(each["metric"], each["window"]) for each in _alerts(result.stderr)] == [
        *[("dark_mode", "2026-11-19")] * 2,
        *[("dark_mode", "2026-11-20")] * 2,
        ("os", "2026-11-19"),
        ("os", "2026-11-20"),
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--alert", "dark_mode.share[yes]"), "write METRIC.FIGURE OPERATOR NUMBER"),
        (("--alert", "light_mode.mean > 2"), "no metric 'light_mode'"),
        (("--alert", "dark_mode.mean > 2"), "write one of: share[VALUE]"),
        (("--alert", MOST, "--alert", "os.share[beos] > 0.5"), "its values are: linux, macos, =windows"),
        (("--alert", "os.share[linux] > 1.5"), "is 0 to 1"),
    ],
)
def test_a_bad_alert_is_refused_before_any_work(folder: Path, arguments: tuple[str, ...], problem: str) -> None:
    (folder / "tallies.ndjson").unlink()  # reading it would be another error
    for run in (_run, _keep):
        result = run(folder, *arguments)
        assert (result.exit_code, result.stdout) == (USAGE, "")
        assert problem in result.stderr
    assert not (folder / "reports").exists()


@pytest.mark.parametrize(
    ("words", "problem"), [(("report", "--preliminary"), "omit --preliminary"), (("watch",), "No such option")]
)
def test_windows_that_are_still_open_are_not_judged(folder: Path, words: tuple[str, ...], problem: str) -> None:
    places = ("--registry", str(folder / "metrics.toml"), "--collector", "http://127.0.0.1:9")
    result = CliRunner().invoke(command, [*words, *places, "--alert", MOST])
    assert (result.exit_code, problem in result.stderr) == (USAGE, True)


def test_a_job_judges_each_window_once_and_keeps_the_lines_with_it(folder: Path) -> None:
    first = _keep(folder, "--alert", MOST)
    assert first.exit_code == FIRED
    verdicts = _alerts(first.stderr)
    assert [(each["window"], each["fired"]) for each in verdicts] == [("2026-11-19", False), ("2026-11-20", True)]
    for verdict in verdicts:
        kept = (folder / "reports" / verdict["window"] / "alerts.ndjson").read_text()
        assert _alerts(kept) == [verdict]
    assert 'href="2026-11-20/alerts.ndjson"' in (folder / "reports" / "index.html").read_text()
    again = _keep(folder, "--alert", MOST)
    assert (again.exit_code, _alerts(again.stderr)) == (NOTHING_NEW, [])


def test_a_job_judges_what_was_closed_since(folder: Path) -> None:
    _keep(folder, "--alert", MOST)
    (folder / "tallies.ndjson").write_bytes(SOUND.replace(b'"closed": false', b'"closed": true'))
    later = _keep(folder, "--alert", MOST)
    assert (later.exit_code, [each["window"] for each in _alerts(later.stderr)]) == (FIRED, ["2026-11-21"])


def test_a_job_judges_a_change_over_the_windows_up_to_each_and_says_it_in_the_one_that_shows_it(folder: Path) -> None:
    days, yes = [f"2026-11-{day}" for day in range(10, 20)], [500] * 5 + [900] * 5
    windows = [line("dark_mode", [1000 - count, count], window=day) for day, count in zip(days, yes, strict=True)]
    (folder / "tallies.ndjson").write_bytes(b"".join(windows[:5]))
    words = ("--alert", "dark_mode.share[yes] rises", "--alert", "dark_mode.share[yes] falls")
    assert _keep(folder, *words).exit_code == DONE
    (folder / "tallies.ndjson").write_bytes(b"".join(windows))
    later = _keep(folder, *words)
    assert later.exit_code == FIRED
    verdicts = [(each["window"], each["operator"], each["fired"]) for each in _alerts(later.stderr)]
    assert verdicts == [(day, word, word == "rises") for day in days[5:] for word in ("rises", "falls")]
    first = json.loads((folder / "reports" / days[0] / "report.json").read_text())
    assert first.get("changes", []) == []
    assert not (folder / "reports" / days[0] / "alerts.ndjson").exists()  # one window shows no change


def test_a_job_with_a_backlog_reads_no_report_again_for_each_window(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is read for changes or the index, and for the page on all windows."""
    windows = [line("dark_mode", [400, 600], window=f"2026-11-{day}") for day in range(10, 20)]
    words, read = ("--alert", "dark_mode.share[yes] rises"), Counter[Path]()

    def counted(path: Path) -> EstimateReport:
        read[path] += 1
        return read_report(path)

    monkeypatch.setattr(archive, "read_report", counted)
    for known in (4, 10):
        (folder / "tallies.ndjson").write_bytes(b"".join(windows[:known]))
        assert _keep(folder, *words).exit_code == DONE
        assert set(read.values()) == {2}
        read.clear()


def test_an_alert_goes_before_a_failed_window_which_is_tried_again(folder: Path) -> None:
    (folder / "tallies.ndjson").write_bytes(SOUND + UNFIT)
    first = _keep(folder, "--alert", MOST)
    assert (first.exit_code, "failed 2026-11-18" in first.stderr) == (FIRED, True)
    (folder / "tallies.ndjson").write_bytes(SOUND + UNFIT + line("dark_mode", [600, 400], window="2026-11-17"))
    later = _keep(folder, "--alert", MOST)
    assert (later.exit_code, "failed 2026-11-18" in later.stderr) == (PARTLY, True)


def test_a_window_that_cannot_be_written_is_not_judged(folder: Path) -> None:
    (folder / "reports" / "2026-11-20").mkdir(parents=True)
    blocked = _keep(folder, "--alert", MOST)
    assert (blocked.exit_code, [each["window"] for each in _alerts(blocked.stderr)]) == (PARTLY, ["2026-11-19"])
    (folder / "reports" / "2026-11-20").rmdir()
    assert _keep(folder, "--alert", MOST).exit_code == FIRED
