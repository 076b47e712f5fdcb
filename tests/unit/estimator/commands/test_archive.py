"""A folder for each closed window: written once, whole, by one run at a time, whatever interrupts
it.
"""

from __future__ import annotations

import fcntl
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Registry, Window
from collector.embedded.store import EmbeddedStore
from estimator.archive import OF_A_COLLECTOR, Archive, recent_estimates
from estimator.commands.cli import command
from estimator.output_files import write_through
from estimator.render.digest import MOST_LINES, digest_text
from estimator.render.html.page import filled, page_of
from estimator.render.html.standing import MOST_WINDOWS, on_all_windows, standing_of
from estimator.render.words import change_words
from estimator.report.report import make_report, over_windows
from estimator.results.report import EstimateReport
from estimator.results.standing import ArchivedWindow
from estimator.tallies import Tally, decode
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, registry_text
from tests.support.estimates.tallies import tally

REGISTRY_TEXT = registry_text(
    dark_mode=BOOLEAN, os=CATEGORY, weekly=BOOLEAN | {"window": "week"}, monthly=BOOLEAN | {"window": "month"}
)
REGISTRY = Registry.parse(REGISTRY_TEXT)
NEW, NOTHING, PARTLY, FAILED, USAGE = 0, 3, 4, 1, 2


def line(metric: str, window: str, *, closed: bool = True, edition: str | None = None, more: int = 0) -> str:
    definition = REGISTRY.metric(metric)
    counts = [30 + more + symbol for symbol in range(definition.channel.symbols)]
    return tally(definition, counts, window=window, closed=closed, edition=edition or definition.edition).decode()


FIRST = line("dark_mode", "2026-11-19") + line("os", "2026-11-19") + line("dark_mode", "2026-11-21", closed=False)
MORE = FIRST + line("dark_mode", "2026-11-20") + line("weekly", "2026-W47") + line("monthly", "2026-11")
UNFIT = line("os", "2026-11-18", edition="0" * 12)


NOON = Window.parse("2026-11-21").starts_at + 43_200


@pytest.fixture
def out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr("estimator.commands.archive.time", SimpleNamespace(time=lambda: NOON))
    (tmp_path / "metrics.toml").write_text(REGISTRY_TEXT)
    return tmp_path / "reports"


def _keep(out: Path, tallies: str, *more: str) -> Result:
    (out.parent / "tallies.ndjson").write_text(tallies)
    places = ("--registry", str(out.parent / "metrics.toml"), "--tallies", str(out.parent / "tallies.ndjson"))
    return CliRunner().invoke(command, ["archive", str(out), *places, *more])


def folders(out: Path) -> set[str]:
    return {path.name for path in out.iterdir() if path.is_dir()}


def contents(out: Path) -> dict[str, tuple[bytes, int]]:
    files = (path for path in sorted(out.rglob("*")) if path.is_file())
    return {str(path): (path.read_bytes(), path.stat().st_mtime_ns) for path in files if path.name != ".lock"}


def test_a_window_that_has_not_begun_is_not_written_so_that_it_can_be_once_it_is_over(out: Path) -> None:
    early = _keep(out, FIRST + line("dark_mode", "2026-11-22") + line("dark_mode", "9998-12-31"))
    assert early.exit_code == PARTLY
    assert early.stderr.count("it has not begun; check that the clocks") == 2
    assert folders(out) == {"2026-11-19"}


def page_data(page: str) -> Any:
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


DAYS = [f"2026-11-{day}" for day in range(13, 20)]
RISING = "".join(line("dark_mode", day, more=20 * at) for at, day in enumerate(DAYS))


def test_the_index_says_what_a_report_of_all_windows_says(out: Path) -> None:
    days = [date(2026, 10, 1) + timedelta(day) for day in range(14)]
    counts = [[400, 600] if day < date(2026, 10, 9) else [600, 400] for day in days]
    dark_mode = REGISTRY.metric("dark_mode")
    of_days = zip(days, counts, strict=True)
    of_all = "".join(tally(dark_mode, each, window=day.isoformat()).decode() for day, each in of_days)
    _keep(out, of_all)
    report = make_report(REGISTRY, decode(of_all.encode().splitlines()))
    (changes,) = report.changes
    assert changes.found[0].since == "2026-10-09"
    said = change_words(changes.found[0], changes)
    assert "points lower than before 2026-10-09 (" in said
    (metric, *_) = json.loads((out / "index.json").read_text())["metrics"]
    assert (metric["metric"], metric["code"], metric["last"]) == ("dark_mode", "changed", "2026-10-14")
    assert metric["change"].startswith(said)
    for name in ("index.html", "digest.txt", "digest.html"):
        assert said in (out / name).read_text()
    assert (out / "index.html").read_text() == standing_page(report, out)


def standing_page(report: EstimateReport, out: Path) -> str:
    page = page_of(report, REGISTRY)
    windows = [
        ArchivedWindow(each["window"], each["kind"], each["metrics"], each["reports"], each["skipped"], each["files"])
        for each in json.loads((out / "index.json").read_text())["windows"]
    ]
    return filled("standing.html.jinja", page, **on_all_windows(page, standing_of(page, windows)))


def test_the_index_leaves_out_estimates_of_other_editions_and_reports_of_other_versions(out: Path) -> None:
    _keep(out, MORE)
    report = json.loads((out / "2026-11-20" / "report.json").read_text())
    for metric in report["metrics"]:
        metric["edition"] = "0" * 12
    (out / "2026-11-20" / "report.json").write_text(json.dumps(report))
    (out / "2026-11-18").mkdir()
    (out / "2026-11-18" / "report.json").write_text('{"schema": 9}')
    _keep(out, MORE + line("dark_mode", "2026-11-17"))
    data = page_data((out / "index.html").read_text())
    shown = dict(zip([name for name, _ in data["calendars"]["day"]], data["metrics"]["dark_mode"]["n"], strict=True))
    assert [day for day, reports in shown.items() if reports] == ["2026-11-17", "2026-11-19"]
    unreadable = json.loads((out / "index.json").read_text())["windows"][-2]
    assert (unreadable["window"], unreadable["reports"]) == ("2026-11-18", None)
    said = _keep(out, MORE + line("dark_mode", "2026-11-17")).stderr
    assert "left 2026-11-18 out of the pages on all windows: " in said
    assert "2026-11-18/report.json cannot be read; remove its folder" in said
    assert '<td class="number" data-head="Reports">unknown</td>' in (out / "index.html").read_text()


def test_the_index_has_the_events_of_its_calendars(out: Path) -> None:
    titles = {"2026-11-08": "too early", "2026-11-13": "first", "2026-11-15": "middle", "2026-11-23": "too late"}
    events = "".join(f'[event.{day}]\ntitle = "{title}"\n' for day, title in titles.items())
    (out.parent / "metrics.toml").write_text(REGISTRY_TEXT + events)
    weekly = line("weekly", "2026-W46") + line("weekly", "2026-W47")
    _keep(out, "".join(line("dark_mode", f"2026-11-{day}") for day in (13, 14, 15)) + weekly)
    data = page_data((out / "index.html").read_text())
    assert [title for _, title in data["events"]["day"]] == ["first", "middle"]
    assert [title for _, title in data["events"]["week"]] == ["first", "middle"]


def test_the_index_looks_back_so_far_that_it_stays_small(out: Path) -> None:
    far = [Window.parse("2024-01-01"), Window.parse("2026-08-01"), Window.parse("2026-11-19")]
    _keep(out, "".join(line("dark_mode", window.text) for window in far))
    distances = [(far[-1].starts_at - window.starts_at) // 86_400 for window in far]
    assert min(distances[:1]) > MOST_WINDOWS > 0
    assert [*recent_estimates(Archive(out), REGISTRY, far)] == [
        window for window, distance in zip(reversed(far), reversed(distances), strict=True) if distance < MOST_WINDOWS
    ]
    assert [each["window"] for each in json.loads((out / "index.json").read_text())["windows"]] == [
        window.text for window in reversed(far)
    ]


def test_the_digest_has_twenty_lines_at_most_and_changes_first(out: Path) -> None:
    reports = REGISTRY.metric("os").channel.symbols * 1000
    moved = [json.loads(line("os", day)) for day in DAYS]
    for at, of_day in enumerate(moved):
        counts = [1000 + 90 * at, 1000 - 90 * at, *[1000] * (len(of_day["counts"]) - 2)]
        of_day |= {"counts": counts, "reports": reports}
    _keep(out, RISING + "".join(json.dumps(tally) + "\n" for tally in moved))
    lines = (out / "digest.txt").read_text().splitlines()
    assert lines[0] == "acme: telemetry digest, 2026-11-19"
    assert [each.split(": ")[0] for each in lines[4:6]] == ["os", "dark_mode"]
    assert lines[-1].startswith("Figures describe the participating devices.")
    names = {f"metric_{number}": BOOLEAN for number in range(50)}
    text = (
        registry_text(**names)
        .replace("per_window = 20", "per_window = 99")
        .replace("lifetime = 400", "lifetime = 9999")
    )
    many = standing_of(page_of(over_windows([], Registry.parse(text)), Registry.parse(text)))
    assert len(digest_text(many).splitlines()) == MOST_LINES
    assert "… and 37 more questions: see index.html" in digest_text(many)
    assert lines[2] == "1 of 4 questions changed."
    assert "\nNo change detected in 50 questions.\n" in digest_text(many)


def test_a_second_run_has_nothing_to_do_and_touches_nothing(out: Path) -> None:
    _keep(out, MORE)
    before = contents(out)
    again = _keep(out, MORE)
    assert (again.exit_code, again.stdout) == (NOTHING, "")
    assert "nothing new: every closed window is archived" in again.stderr
    assert contents(out) == before


def test_a_later_run_adds_what_was_closed_since_and_rewrites_no_window(out: Path) -> None:
    _keep(out, FIRST)
    before = contents(out / "2026-11-19")
    # never happens
    other = MORE.replace(line("dark_mode", "2026-11-19"), line("dark_mode", "2026-11-19", more=9))
    later = _keep(out, other)
    assert (later.exit_code, later.stdout.count("wrote")) == (NEW, 3)
    assert contents(out / "2026-11-19") == before


@pytest.mark.slow
@pytest.mark.parametrize("spoil", ["", "{", '{"schema": 1, "windows": [{}]}', '{"schema": 2}', "[]"])
def test_a_lost_or_broken_index_is_rebuilt(out: Path, spoil: str) -> None:
    _keep(out, MORE)
    whole = (out / "index.json").read_text()
    (out / "index.json").write_text(spoil)
    assert _keep(out, MORE).exit_code == NOTHING
    assert (out / "index.json").read_text() == whole


def test_a_window_without_a_fitting_tally_is_tried_again(out: Path) -> None:
    partly = _keep(out, FIRST + UNFIT)
    assert partly.exit_code == PARTLY
    assert "failed 2026-11-18: none of its tallies can be estimated: os 000000000000: the registry" in partly.stderr
    assert folders(out) == {"2026-11-19"}
    assert _keep(out, FIRST + UNFIT).exit_code == FAILED
    assert _keep(out, FIRST + line("os", "2026-11-18")).exit_code == NEW


def test_one_window_that_cannot_be_estimated_does_not_cost_the_others(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(registry: Registry, tallies: list[Tally], **request: Any) -> EstimateReport:
        if tallies[0].window.text == "2026-11-19":
            raise ZeroDivisionError("by chance")
        return make_report(registry, tallies, **request)

    monkeypatch.setattr("estimator.archive.make_report", fail)
    result = _keep(out, MORE)
    assert result.exit_code == PARTLY
    assert "failed 2026-11-19: ZeroDivisionError: by chance" in result.stderr
    assert "2026-11-20" in folders(out)


def test_nothing_to_report_is_nothing_new(out: Path) -> None:
    assert _keep(out, "").exit_code == NOTHING
    assert json.loads((out / "index.json").read_text())["windows"] == []


def test_windows_are_chosen(out: Path) -> None:
    assert _keep(out, MORE, "--from", "2026-11-20", "--to", "2026-11-20").exit_code == NEW
    assert folders(out) == {"2026-11-20", "2026-W47", "2026-11"}


class Cut(BaseException):
    """Ends a run as a kill does: the product does not catch it."""


def test_a_run_that_is_cut_off_leaves_no_half_window_and_the_next_one_cleans_up(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(path: Path, content: bytes) -> None:
        write_through(path, content[:10])
        raise Cut

    monkeypatch.setattr("estimator.archive.write_through", cut)
    # a kill cleans up nothing
    monkeypatch.setattr("estimator.archive.shutil.rmtree", lambda _: None)
    with pytest.raises(Cut):
        _keep(out, FIRST)
    (left,) = folders(out)
    assert left.startswith(".part-2026-11-19")
    monkeypatch.undo()
    assert _keep(out, FIRST).exit_code == NEW
    assert folders(out) == {"2026-11-19"}


def test_a_disk_that_is_full_fails_and_leaves_what_was_there(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _keep(out, FIRST)
    before = contents(out)

    def full(path: Path, content: bytes) -> None:
        write_through(path, content[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("estimator.archive.write_through", full)
    result = _keep(out, MORE)
    assert result.exit_code == FAILED
    assert "failed 2026-11-20" in result.stderr
    assert "No space left on device" in result.stderr
    assert contents(out) == before


@contextmanager
def held(out: Path) -> Iterator[None]:
    out.mkdir()
    with (out / ".lock").open("wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def test_two_runs_at_once_do_not_meet(out: Path) -> None:
    with held(out):
        result = _keep(out, FIRST)
        assert result.exit_code == NOTHING
        assert "another run is writing to" in result.stderr
        assert folders(out) == set()
    assert _keep(out, FIRST).exit_code == NEW


def test_a_folder_of_another_program_is_left_alone(out: Path) -> None:
    (out / "2026-11-19").mkdir(parents=True)
    (out / "2026-11-19" / "mine.txt").touch()
    (out / "notes").mkdir()
    result = _keep(out, MORE)
    assert result.exit_code == PARTLY
    assert "2026-11-19 already exists, but has no report.json; move it away" in result.stderr
    assert (out / "2026-11-19" / "mine.txt").exists()


@pytest.mark.parametrize("block", [Path.touch, lambda path: path.symlink_to("/dev/null")])
def test_a_target_that_is_no_folder_is_a_plain_error(out: Path, block: Callable[[Path], None]) -> None:
    block(out)
    result = _keep(out, FIRST)
    assert (result.exit_code, result.stdout) == (FAILED, "")
    assert "cannot be used: File exists; name a folder" in result.stderr


def test_a_target_that_cannot_be_looked_into_is_a_plain_error(out: Path) -> None:
    result = _keep(out.with_name("x" * 300), FIRST)
    assert (result.exit_code, "cannot be used: File name too long; name a folder" in result.stderr) == (FAILED, True)


def test_a_system_without_locks_gets_an_error_that_says_so(out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "estimator.archive", raising=False)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    result = _keep(out, FIRST)
    assert result.exit_code == FAILED
    assert "archive needs fcntl, which this system does not have; run it on Linux or macOS" in result.stderr


@pytest.mark.parametrize(
    ("more", "problem"),
    [
        (("--preliminary",), "No such option '--preliminary'"),
        (("--format", "csv"), "No such option '--format'"),
        (("--with", "pooled"), "--with pooled combines windows, but archive writes each window separately"),
    ],
)
def test_what_does_not_go_with_a_folder_is_wrong_usage(out: Path, more: tuple[str, ...], problem: str) -> None:
    result = _keep(out, FIRST, *more)
    assert result.exit_code == USAGE
    assert problem in result.stderr
    assert not out.exists()


def test_a_lock_is_given_back_and_a_window_is_one_by_its_name(out: Path) -> None:
    archive = Archive(out)
    for _ in range(2):
        with archive.locked():
            assert archive.windows() == []


@pytest.mark.parametrize("name", OF_A_COLLECTOR)
def test_the_data_directory_of_a_collector_is_refused_and_left_as_it_is(out: Path, name: str) -> None:
    out.mkdir()
    (out / name).touch()
    refused = _keep(out, MORE)
    assert (refused.exit_code, "is a collector's data directory; name another" in refused.stderr) == (FAILED, True)
    assert [path.name for path in out.iterdir()] == [name]


def test_what_is_taken_for_a_collectors_is_what_lies_there(tmp_path: Path) -> None:
    with EmbeddedStore(tmp_path):
        assert {path.name for path in tmp_path.iterdir()} >= set(OF_A_COLLECTOR)


def test_the_digest_says_how_many_reports_there_were_and_up_to_where_a_number_is_counted(out: Path) -> None:
    text = registry_text(startup_ms=NUMBER | {"title": "Start-up", "unit": "ms"})
    (out.parent / "metrics.toml").write_text(text)
    metric = Registry.parse(text).metric("startup_ms")
    counts = [50] * metric.channel.symbols
    _keep(out, tally(metric, counts, window="2026-11-19").decode())
    (said,) = [each for each in (out / "digest.txt").read_text().splitlines() if each.startswith("Start-up")]
    assert said.startswith("Start-up, counted up to ")
    assert said.endswith(f" {sum(counts):,} reports in 2026-11-19.")


def test_the_archive_of_another_app_is_left_as_it_is(out: Path) -> None:
    _keep(out, FIRST)
    before = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    (out.parent / "metrics.toml").write_text(REGISTRY_TEXT.replace('name = "acme"', 'name = "other"'))
    refused = _keep(out, MORE)
    assert refused.exit_code == FAILED
    assert f"{out} contains the reports of acme, but the registry is for other; name another folder" in refused.stderr
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == before


def test_a_window_without_tallies_is_not_said_to_be_there(out: Path) -> None:
    none = _keep(out, MORE, "--from", "2026-11-20", "--to", "2026-11-20")
    assert none.exit_code == NEW
    assert _keep(out, MORE, "--from", "2026-11-20", "--to", "2026-11-20").stderr == (
        "nothing new: every closed window is archived\n"
    )
    none = _keep(out, MORE, "--from", "2026-12-01")
    assert (none.exit_code, none.stderr) == (NOTHING, "nothing new: no requested closed window has a tally\n")
