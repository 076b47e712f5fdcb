"""A folder for the public: only what may be published, whole whenever a run is interrupted."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from client_sdk.protocol import Metric, Registry, Window
from client_sdk.protocol.command_line import ExitStatus
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import Text
from estimator import load_report
from estimator.analyses.texts import sampled_texts
from estimator.archive import ON_ALL_WINDOWS
from estimator.commands.cli import command
from estimator.decoders.inversions import sampler_of
from estimator.output_files import write_through
from estimator.report.publishing import LEAST_REPORTS, rounded_down
from estimator.results.estimate import Figure
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    CROSS,
    MEAN_BY_GROUP,
    NUMBER,
    TEXT,
    Field,
    registry_text,
)
from tests.support.estimates.tallies import tally

PUBLIC = {"public": True}
NEW, NOTHING, USAGE = 0, 3, 2
DAYS = ("2026-11-17", "2026-11-18", "2026-11-19")

SHOWN: Mapping[str, Mapping[str, Field]] = {
    "dark_mode": BOOLEAN | PUBLIC | {"title": "Dark mode", "purpose": "To choose a theme."},
    "os": CATEGORY | PUBLIC,
    "both": CROSS | PUBLIC,
}
HIDDEN: Mapping[str, Mapping[str, Field]] = {"hidden": BOOLEAN, "delicate": BOOLEAN | {"sensitive": True}}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    noon = Window.parse("2026-11-21").starts_at + 43_200
    monkeypatch.setattr("estimator.commands.archive.time", SimpleNamespace(time=lambda: noon))
    return tmp_path


def line(metric: Metric, window: str, counts: list[int], edition: str | None = None) -> str:
    return tally(metric, counts, window=window, edition=edition or metric.edition).decode()


def lines(registry: Registry, reports: Mapping[str, int], days: tuple[str, ...] = DAYS) -> str:
    """Return tallies in which the symbols of a question are about equally common."""
    tallies = []
    for name, number in reports.items():
        metric = registry.metric(name)
        each, more = divmod(number, metric.channel.symbols)
        counts = [each + (symbol < more) for symbol in range(metric.channel.symbols)]
        tallies += [line(metric, day, counts) for day in days]
    return "".join(tallies)


def run(folder: Path, registry: str, tallies: str, *more: str) -> Result:
    folder.mkdir(exist_ok=True)
    (folder / "metrics.toml").write_text(registry, encoding="utf-8")
    (folder / "tallies.ndjson").write_text(tallies, encoding="utf-8")
    places = ("--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies.ndjson"))
    public = ("--public", str(folder / "public"))
    return CliRunner().invoke(command, ["archive", str(folder / "reports"), *places, *public, *more])


def contents(public: Path) -> dict[str, bytes]:
    files = (path for path in sorted(public.rglob("*")) if path.is_file() and path.name != ".lock")
    return {str(path.relative_to(public)): path.read_bytes() for path in files}


@pytest.mark.slow
def test_only_public_metrics_have_a_file_a_card_and_a_line(folder: Path) -> None:
    text = registry_text(**SHOWN, **HIDDEN)
    registry = Registry.parse(text)
    done = run(folder, text, lines(registry, dict.fromkeys(registry.metrics, 1234)))
    assert done.exit_code == NEW, done.stderr
    assert f"published {folder / 'public'}" in done.stdout
    files = contents(folder / "public")
    assert set(files) == {"index.html", "index.json", *(f"metrics/{name}.json" for name in SHOWN)}
    index = json.loads(files["index.json"])
    assert [each["metric"] for each in index["metrics"]] == list(SHOWN)
    dark_mode = index["metrics"][0]
    assert (dark_mode["title"], dark_mode["purpose"]) == ("Dark mode", "To choose a theme.")
    assert (dark_mode["epsilon"], dark_mode["expires"]) == (1.0, None)
    assert (dark_mode["first"], dark_mode["last"]) == (DAYS[0], DAYS[-1])
    page = files["index.html"].decode()
    assert set(re.findall(r'<article [^>]*id="q-([^"]+)"', page)) == set(SHOWN)
    assert set(re.findall(r'href="(metrics/[^"]+)"', page)) == set(files) - {"index.html", "index.json"}
    assert "Figures describe the participating devices." in page
    assert "About 1,200 devices participate" in page
    report = load_report(folder / "public" / "metrics" / "dark_mode.json")
    assert [(each.window, each.reports) for each in report.metrics] == [(day, 1200) for day in DAYS]


def test_an_archive_and_a_folder_for_the_public_are_never_mixed(folder: Path) -> None:
    text = registry_text(**SHOWN, **HIDDEN)
    tallies = lines(Registry.parse(text), dict.fromkeys([*SHOWN, *HIDDEN], 1234))
    assert run(folder, text, tallies).exit_code == NEW
    before = contents(folder)
    places = ("--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies.ndjson"))
    for where, words, said in (
        ("public", (), "is a public folder"),
        ("other", ("--public", str(folder / "reports")), "is an archive, which contains every question"),
    ):
        refused = CliRunner().invoke(command, ["archive", str(folder / where), *places, *words])
        assert (refused.exit_code, said in refused.stderr) == (1, True), refused.stderr
        assert contents(folder) == before


def test_a_file_of_somebody_else_among_the_metrics_is_refused_and_stays(folder: Path) -> None:
    text = registry_text(**SHOWN)
    (folder / "public" / "metrics").mkdir(parents=True)
    (folder / "public" / "metrics" / "mine.json").write_text("mine")
    refused = run(folder, text, lines(Registry.parse(text), dict.fromkeys(SHOWN, 1234)))
    assert (refused.exit_code, "mine.json was not written by archive" in refused.stderr) == (1, True)
    assert (folder / "public" / "metrics" / "mine.json").read_text() == "mine"
    assert not (folder / "reports").exists()


@pytest.mark.slow
def test_what_is_not_public_leaves_no_byte(folder: Path) -> None:
    text = registry_text(**SHOWN, **HIDDEN)
    registry = Registry.parse(text)
    public, hidden = dict.fromkeys(SHOWN, 1200), dict.fromkeys(HIDDEN, 1000)
    first = run(folder / "first", text, lines(registry, public | hidden))
    words = {
        'owner = "owner@example.com"': 'owner = "somebody else, token hsy_123"',
        'accept = "It exists in tests only."': 'accept = "Another reason."',
    }
    other = registry_text(**SHOWN, hidden=BOOLEAN | {"owner": "a team"}, delicate=HIDDEN["delicate"])
    for old, new in words.items():
        assert old in other
        other = other.replace(old, new)
    other += '[event.2026-11-18]\ntitle = "A secret release"\n'
    # numbers that are rounded alike, other answers to hidden questions, an unfit tally, an alert
    close = lines(registry, {"hidden": 777, "delicate": 5000}) + "".join(
        line(registry.metric(name), day, counts)
        for name in SHOWN
        for day in DAYS
        if (counts := raised(registry.metric(name).channel.symbols))
    )
    unfit = line(registry.metric("hidden"), DAYS[0], [500, 500], edition="0" * 12)
    alert = ("--alert", "hidden.share[yes] > 0.1", "--with", "poisoning=0.01,installs=5000")
    second = run(folder / "second", other, close + unfit, *alert)
    assert (first.exit_code, second.exit_code) == (NEW, ExitStatus.ALERT), second.stderr
    assert (folder / "second" / "reports" / DAYS[0] / "alerts.ndjson").exists()
    before, after = (contents(folder / each / "public") for each in ("first", "second"))
    assert before == after
    assert len(before) == len(SHOWN) + 2


def raised(symbols: int) -> list[int]:
    """Return counts that are rounded to those of 1,200 reports in `lines`, of 1,200 + symbols."""
    return [1200 // symbols + (symbol < 1200 % symbols) + 1 for symbol in range(symbols)]


def test_counts_have_two_digits_everywhere(folder: Path) -> None:
    text = registry_text(**SHOWN)
    registry = Registry.parse(text)
    assert run(folder, text, lines(registry, {"dark_mode": 12_345, "os": 98_765, "both": 1099})).exit_code == NEW
    files = contents(folder / "public")
    for name, reports in {"dark_mode": 12_000, "os": 98_000, "both": 1000}.items():
        report = load_report(folder / "public" / "metrics" / f"{name}.json")
        assert {each.reports for each in report.metrics} == {reports}
        taking_part = [each.taking_part for each in report.metrics if each.taking_part is not None]
        assert {each.estimate for each in taking_part} == {float(reports)}
    written = b"".join(files.values()).decode()
    for exact in ("12,345", "12345", "98,765", "98765", "1,099", "1099", "37,035", "36,000 reports"):
        assert exact not in written


def test_fewer_than_a_hundred_reports_are_not_published(folder: Path) -> None:
    text = registry_text(**SHOWN)
    registry = Registry.parse(text)
    poor = lines(registry, {"dark_mode": LEAST_REPORTS - 1, "os": LEAST_REPORTS}, DAYS[:1])
    rich = lines(registry, {"dark_mode": LEAST_REPORTS}, DAYS[1:2])
    assert run(folder, text, poor + rich).exit_code == NEW
    windows = {
        name: [each.window for each in load_report(folder / "public" / "metrics" / f"{name}.json").metrics]
        for name in SHOWN
    }
    assert windows == {"dark_mode": [DAYS[1]], "os": [DAYS[0]], "both": []}


def test_a_stratum_of_fewer_is_not_in_the_whole_either(folder: Path) -> None:
    text = registry_text(crashes=BOOLEAN | PUBLIC | {"strata": ["platform"]})
    text = text.replace("[metric.crashes]", '[strata]\nplatform = ["ios", "android"]\n[metric.crashes]')
    metric = Registry.parse(text).metric("crashes")
    others, ios, android = metric.editions
    counts = {others: [40, 59], ios: [100, 119], android: [500, 599]}
    assert (
        run(folder, text, "".join(line(metric, DAYS[0], each, edition) for edition, each in counts.items())).exit_code
        == 0
    )
    report = load_report(folder / "public" / "metrics" / "crashes.json")
    reports = {each.metric: each.reports for each in report.metrics}
    assert reports == {
        "crashes": rounded_down(210 + 1000),
        "crashes[platform=ios]": 210,
        "crashes[platform=android]": 1000,
    }
    assert [(each.first, each.second) for each in report.effects] == [("platform=ios", "platform=android")]


@pytest.mark.parametrize(
    ("fields", "within", "differences"),
    [(CROSS, "share_within", "difference"), (MEAN_BY_GROUP, "mean_within", "difference_of_means")],
)
def test_a_figure_within_a_small_group_is_unknown(
    folder: Path, fields: Mapping[str, Field], within: str, differences: str
) -> None:
    asked = {**fields, **PUBLIC, "epsilon": 8}
    text = registry_text(dark_mode=BOOLEAN, os=CATEGORY, startup_ms=NUMBER, m=asked)
    metric = Registry.parse(text).metric("m")
    groups = 2 if fields is CROSS else 3
    weights = np.ones((groups, metric.channel.inputs // groups))
    weights[0] = 0.02
    generator = np.random.default_rng(1)
    people = generator.multinomial(5000, (weights / weights.sum()).ravel())
    counts = sampler_of(metric.channel)(people, generator).tolist()
    assert run(folder, text, line(metric, DAYS[0], counts)).exit_code == NEW
    exact, shown = (
        load_report(folder / path).metrics[0].figures
        for path in (f"reports/{DAYS[0]}/report.json", "public/metrics/m.json")
    )

    def value_of(figure: Figure) -> tuple[Any, ...]:
        return figure.value if isinstance(figure.value, tuple) else (figure.value,)

    small = value_of(exact("share")[0])[0]
    known = {value_of(each)[0]: each.estimate is not None for each in exact(within)}
    assert list(known.values()) == [True] * groups, "the exact report shows every group"
    for figure in shown(within):
        assert (figure.estimate is None) == (value_of(figure)[0] == small)
        assert figure.estimate is not None or (figure.standard_error, figure.p_value) == (None, None)
    hidden = [small in value_of(each)[-2:] for each in shown(differences)]
    assert [each.estimate is None and each.p_value is None for each in shown(differences)] == hidden
    assert any(hidden)


@pytest.mark.slow
def test_of_texts_only_those_that_the_registry_approves_are_published(folder: Path) -> None:
    text = registry_text(word=TEXT | PUBLIC | {"approved": ["zebra"]}, other=TEXT | PUBLIC)
    registry = Registry.parse(text)
    drawn = "".join(texts(registry.metric(name)) for name in ("word", "other"))
    assert run(folder, text, drawn).exit_code == NEW
    found = {
        figure.value
        for metric in load_report(folder / "reports" / DAYS[0] / "report.json").metrics
        for figure in metric.figures("found_text")
    }
    assert found == {"the", "zebra", "congratulati…"}
    (word,) = load_report(folder / "public" / "metrics" / "word.json").metrics
    assert [figure.value for figure in word.figures("approved_text")] == ["zebra"]
    assert load_report(folder / "public" / "metrics" / "other.json").metrics == ()
    files = contents(folder / "public")
    written = b"".join(files.values()).decode()
    assert "Of the texts that may be published, “zebra” is the most common" in files["index.json"].decode()
    assert "congratulati" not in written
    assert '"the"' not in written
    withdrawn = text.replace('approved = ["zebra"]', 'approved = ["yak"]')
    assert run(folder, withdrawn, drawn).exit_code == NEW
    assert "zebra" not in b"".join(contents(folder / "public").values()).decode()


def texts(metric: Metric) -> str:
    assert isinstance(metric.kind, Text)
    assert isinstance(metric.channel, GroupedGeometry)
    devices: dict[tuple[int, ...], int] = {
        (metric.kind.number_of(word),): 9000 for word in ("the", "zebra", "congratulations")
    }
    counts = sampled_texts(metric.kind, metric.channel, devices, np.random.default_rng(7))
    symbols = np.flatnonzero(counts)
    about = json.loads(line(metric, DAYS[0], counts[symbols].tolist()))
    return json.dumps(about | {"symbols": symbols.tolist()}) + "\n"


@pytest.mark.slow
def test_a_metric_that_becomes_public_brings_its_history_and_one_that_ceases_to_be_takes_it_along(folder: Path) -> None:
    hidden = registry_text(**{**SHOWN, "os": CATEGORY})
    shown = registry_text(**SHOWN)
    tallies = lines(Registry.parse(shown), dict.fromkeys(SHOWN, 1000))
    run(folder, hidden, tallies)
    without = contents(folder / "public")
    assert "metrics/os.json" not in without
    published = run(folder, shown, tallies)
    assert (published.exit_code, "wrote" in published.stdout) == (NEW, False)
    assert len(load_report(folder / "public" / "metrics" / "os.json").metrics) == len(DAYS)
    assert run(folder, shown, tallies).exit_code == NOTHING
    run(folder, hidden, tallies)
    assert contents(folder / "public") == without


@pytest.mark.slow
def test_windows_that_the_collector_has_no_more_stay_published(folder: Path) -> None:
    text = registry_text(**SHOWN)
    registry = Registry.parse(text)
    run(folder, text, lines(registry, dict.fromkeys(SHOWN, 1000), DAYS[:2]))
    run(folder, text, lines(registry, dict.fromkeys(SHOWN, 1000), DAYS[2:]))
    later = contents(folder / "public")
    at_once = run(folder / "at_once", text, lines(registry, dict.fromkeys(SHOWN, 1000)))
    assert at_once.exit_code == NEW
    assert later == contents(folder / "at_once" / "public")


class Cut(BaseException):
    """Ends a run as a kill does: the product does not catch it."""


def cut_at(place: int) -> Callable[[Path, bytes], None]:
    """Return what writes files, and half of one that comes at a place."""
    numbers = count()

    def write(path: Path, content: bytes) -> None:
        if next(numbers) == place:
            write_through(path, content[: len(content) // 2])
            raise Cut
        write_through(path, content)

    return write


@pytest.mark.long
def test_an_interrupted_run_leaves_whole_files_and_links_that_lead_somewhere(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = registry_text(**SHOWN)
    registry = Registry.parse(text)
    some = lines(registry, {"dark_mode": 1000, "os": 1000}, DAYS[:2])
    every = some + lines(registry, dict.fromkeys(SHOWN, 1000), DAYS[2:])
    for name, tallies in {"before": some, "after": every}.items():
        run(folder / name, text, tallies)
    whole = {name: contents(folder / name) for name in ("before", "after")}
    cuts = 0
    for place in count():
        cut = folder / f"cut at {place}"
        shutil.copytree(folder / "before", cut)
        with monkeypatch.context() as patched, suppress(Cut):
            patched.setattr("estimator.output_files.write_through", cut_at(place))
            patched.setattr("pathlib.Path.unlink", lambda _: None)  # a kill cleans up nothing
            run(cut, text, every)
            break
        cuts += 1
        left = {name: content for name, content in contents(cut).items() if not name.endswith((".part", ".ndjson"))}
        assert all(content in (each.get(name) for each in whole.values()) for name, content in left.items())
        for index in ("reports", "public"):
            page = left[f"{index}/index.html"].decode()
            assert all((cut / index / link).exists() for link in re.findall(r'href="([^#"]+)"', page))
        run(cut, text, every)
        assert contents(cut) == whole["after"]
    assert cuts == len(ON_ALL_WINDOWS) + len(SHOWN) + 2


def test_a_public_folder_is_not_the_archive_and_needs_a_public_metric(folder: Path) -> None:
    text = registry_text(**SHOWN)
    same = run(folder, text, "", "--public", str(folder / "reports"))
    assert (same.exit_code, "--public names DIR itself; name a separate folder" in same.stderr) == (USAGE, True)
    none = run(folder, registry_text(**HIDDEN), "")
    assert (none.exit_code, "the registry has no question with public = true" in none.stderr) == (USAGE, True)
    (folder / "public").mkdir()
    (folder / "public" / "index.html").write_text("<!doctype html>\n<title>Somebody's page</title>\n")
    foreign = run(folder, text, "")
    assert "index.html was not written by a report, and is left as it is" in foreign.stderr
    assert not (folder / "public" / "metrics").exists()


def test_a_metric_whose_tallies_are_all_withheld_is_not_said_to_have_no_reports(folder: Path) -> None:
    text = registry_text(**SHOWN)
    registry = Registry.parse(text)
    done = run(folder, text, lines(registry, {"dark_mode": 99}))
    assert "published" not in done.stdout
    assert "nothing to publish: no public question has a closed window with 100 reports" in done.stderr
    (index, page) = ((folder / "public" / name).read_text() for name in ("index.json", "index.html"))
    assert {each["answer"] for each in json.loads(index)["metrics"]} == {"No window has 100 reports yet."}
    assert "nobody has reported" not in page.lower()


def test_an_unfit_folder_for_the_public_is_refused_before_anything_is_written(folder: Path) -> None:
    text = registry_text(**SHOWN)
    (folder / "public").write_text("a file")
    refused = run(folder, text, lines(Registry.parse(text), {"dark_mode": 1000}))
    assert refused.exit_code == 1
    assert [path for path in (folder / "reports").iterdir() if path.name != ".lock"] == []
