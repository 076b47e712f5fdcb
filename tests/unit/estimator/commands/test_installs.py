"""Figures describe the devices that take part. Every form says so, with about how many they are,
and `--with installs` bounds the figures of all.
"""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import estimator
from client_sdk.protocol import Registry, Window
from estimator.commands.cli import command
from estimator.errors import RequestError
from estimator.report.strata import asked_share
from tests.support.devices.clients import ask
from tests.support.estimates.command_line import report
from tests.support.estimates.documents import listed, only
from tests.support.estimates.tallies import tally

BOOLEANS = '[metric.one]\nkind = "boolean"\n[metric.two]\nkind = "boolean"\n[metric.three]\nkind = "boolean"\n'
NUMBER = '[metric.number]\nkind = "number"\nlow = 0\nhigh = 100\nstatistic = "distribution"\n'
SPLIT = ""
SAMPLE = 'strategy = "sample"\nanswers = 1'
PACE = 'strategy = "pace"'
EXPIRING = BOOLEANS.replace('"boolean"\n', '"boolean"\nexpires = 2026-12-31\n')
WINDOW = "2026-11-20"
COUNTS = [400, 600]

DESCRIBED = "Figures describe the participating devices. Devices of users who decline are in no tally."
BY_REPORTS = "devices participate, according to 1,000 reports of one in 2026-11-20. This assumes that each"
UNKNOWN = (
    "The number of participating devices is unknown: the schedule does not determine the share of devices that answer "
    "in a window."
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def written(folder: Path, budget: str, metrics: str = BOOLEANS) -> Registry:
    """Write a registry and a tally of its first question."""
    registry = ask(metrics, budget)
    metric = next(iter(registry.metrics.values()))
    counts = COUNTS if metric.kind.name == "boolean" else [10] * metric.channel.symbols
    (folder / "metrics.toml").write_text(registry.source)
    (folder / "tallies").write_bytes(tally(metric, counts, window=WINDOW))
    return registry


def words(text: str) -> str:
    return " ".join(text.replace("\N{NO-BREAK SPACE}", " ").split())


def test_a_single_report_is_that_of_one_device(folder: Path) -> None:
    metric = next(iter(written(folder, SPLIT).metrics.values()))
    (folder / "tallies").write_bytes(tally(metric, [0, 1], window=WINDOW))
    assert (
        "About 1 device participates, according to 1 report of one in 2026-11-20. This assumes that each device has"
        in words(report(folder))
    )


@pytest.mark.parametrize(
    ("budget", "metrics", "number"),
    [
        (SPLIT, BOOLEANS, f"About 1,000 {BY_REPORTS} device has budget left"),
        (SAMPLE, BOOLEANS, f"{BY_REPORTS} of the 33.3% that are asked has"),
        (PACE, EXPIRING, UNKNOWN),
    ],
)
def test_every_form_says_whom_its_figures_describe(folder: Path, budget: str, metrics: str, number: str) -> None:
    registry = written(folder, budget, metrics)
    page = folder / "report.html"
    report(folder, "--output", str(page))
    texts = [report(folder), report(folder, "--verbose")]
    texts += [page.read_text()]
    loaded = estimator.estimate(registry, folder / "tallies")
    texts += [loaded.summary(), loaded._repr_html_()]
    for text in texts:
        assert words(text).count(DESCRIBED) == 1
        assert number in words(text)
    document = json.loads(report(folder, "--format", "json"))
    assert document["population"] == "taking-part"
    assert ("taking_part" in document["metrics"][0]) == (number != UNKNOWN)
    rows = [*csv.DictReader(io.StringIO(report(folder, "--format", "csv")))]
    assert {row["population"] for row in rows} == {"taking-part"}
    assert any(row["statistic"] == "devices_taking_part" for row in rows) == (number != UNKNOWN)


def test_the_share_that_is_asked_follows_from_the_schedule() -> None:
    day = Window.parse(WINDOW)
    assert asked_share(ask(BOOLEANS), day) == 1
    assert asked_share(ask(BOOLEANS, SAMPLE), day) == pytest.approx(1 / 3, rel=0, abs=0)
    assert asked_share(ask(BOOLEANS, SAMPLE.replace("1", "5")), day) == 1
    expired = BOOLEANS.replace('"boolean"\n', '"boolean"\nexpires = 2026-11-19\n', 1)
    assert asked_share(ask(expired, SAMPLE), day) == 1 / 2
    assert asked_share(ask(BOOLEANS, "web_year = 50"), day) is None


def test_every_form_has_the_bounds_among_all_installations(folder: Path) -> None:
    registry = written(folder, SPLIT)
    page = folder / "report.html"
    report(folder, "--with", "installs=4000", "--output", str(page))
    texts = [report(folder, "--with", "installs=4000")]
    whole = estimator.estimate(registry, folder / "tallies", installs=4000)
    texts += [page.read_text(), whole.summary(), whole._repr_html_()]
    among_all = whole.metrics[0].among_all
    assert among_all is not None
    assert (among_all.taking_part.low, among_all.taking_part.high) == (0.25, 0.25)
    assert among_all.estimates is not None
    assert whole.metrics[0].estimates is not None
    yes, of_all = whole.metrics[0].estimates[1], among_all.estimates[1]
    assert (of_all.low, of_all.high) == (0.25 * yes.low, 1 - 0.25 * (1 - yes.high))
    for text in (texts[0], *texts[2:]):
        assert "Of all 4,000 installations 25% participate; among all of them “yes” is 16 to 95%" in words(text)
    assert "25% participate. Among all installations: the bounds are valid for any" in words(texts[1])
    assert re.search(r"<bdi>yes</bdi></th><td[^>]*>16 to 95%</td>", texts[1].replace("\N{NO-BREAK SPACE}", " "))
    verbose = words(report(folder, "--with", "installs=4000", "--verbose"))
    assert "among all 4,000 installations, 2026-11-20; 25% participate" in verbose
    assert re.search(r"yes bounds 16 to 95%", verbose)
    (metric,) = json.loads(report(folder, "--with", "installs=4000", "--format", "json"))["metrics"]
    assert listed(metric["among_all"], "share")[1]["low"] == of_all.low
    rows = [*csv.DictReader(io.StringIO(report(folder, "--with", "installs=4000", "--format", "csv")))]
    bound = next(row for row in rows if (row["statistic"], row["value"]) == ("share_among_all", "yes"))
    read = [float(bound[name]) for name in ("low", "high", "confidence")]
    assert read == [of_all.low, of_all.high, 0.949]
    saved = io.StringIO(report(folder, "--with", "installs=4000", "--format", "json"))
    assert estimator.load_report(saved).metrics[0].among_all == among_all


@pytest.mark.slow
def test_a_mean_is_bounded_by_its_range_and_quantiles_are_said_to_have_no_bounds(folder: Path) -> None:
    written(folder, SPLIT, NUMBER)
    (metric,) = json.loads(report(folder, "--with", "installs=10000", "--format", "json"))["metrics"]
    share, mean = metric["reports"] / 10_000, only(metric, "mean")
    assert only(metric["among_all"], "mean")["low"] == share * mean["low"]
    assert only(metric["among_all"], "mean")["high"] == 100 - share * (100 - mean["high"])
    for text in (report(folder, "--with", "installs=10000"), report(folder, "--with", "installs=10000", "--verbose")):
        assert "Quantiles, the variance" in words(text)
        assert "have no such bounds" in words(text)


@pytest.mark.parametrize(
    ("budget", "metrics", "reason"),
    [
        (PACE, EXPIRING, 'strategy = "pace", a device is asked in windows that'),
        ("web_year = 50", BOOLEANS, "a browser whose storage was wiped reports again as another device"),
    ],
)
def test_installations_are_refused_where_the_schedule_does_not_say_what_share_is_asked(
    folder: Path, budget: str, metrics: str, reason: str
) -> None:
    registry = written(folder, budget, metrics)
    with pytest.raises(RequestError, match=re.escape(reason)):
        estimator.estimate(registry, folder / "tallies", installs=10_000)
    given = estimator.estimate(registry, folder / "tallies", installs=10_000, asked=0.2).metrics[0]
    assert given.among_all is not None
    assert given.taking_part is not None
    assert given.taking_part.asked == 0.2
    assert given.taking_part.low < 5000 < given.taking_part.high
    assert given.among_all.taking_part.low == given.taking_part.low / 10_000


def test_as_many_reports_as_installations_leave_nobody_out(folder: Path) -> None:
    registry = written(folder, SPLIT)
    metric = estimator.estimate(registry, folder / "tallies", installs=1000).metrics[0]
    assert metric.among_all is not None
    assert metric.among_all.taking_part.estimate == 1
    assert metric.among_all.estimates is not None
    assert metric.estimates is not None
    assert metric.among_all.estimates.lows.tolist() == metric.estimates.lows.tolist()


@pytest.mark.parametrize("wrong", [{"installs": 0}, {"installs": 5, "asked": 0.0}, {"asked": 1.5}])
def test_numbers_that_cannot_be_are_refused(folder: Path, wrong: dict[str, float]) -> None:
    registry = written(folder, SPLIT)
    with pytest.raises(ValueError, match="installs must be a whole number from 1"):
        estimator.estimate(registry, folder / "tallies", **wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(("installs", "status"), [(999, 2), (1000, 0)])
def test_fewer_installations_than_reports_are_refused(folder: Path, installs: int, status: int) -> None:
    written(folder, SPLIT)
    places = ("--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "tallies"))
    result = CliRunner().invoke(command, ["report", *places, "--with", f"installs={installs}"])
    assert result.exit_code == status, result.stderr
    said = "1,000 devices sent a report of one in 2026-11-20; give the number of all installations, at least 1,000"
    assert (said in result.stderr) == (status == 2)
