"""The HTML report: the time to write it, its size, and the time until a browser shows its text."""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import date, timedelta
from itertools import groupby
from pathlib import Path
from statistics import median
from typing import Final

from msgspec.structs import replace
from playwright.sync_api import Browser

from benchmarks import many_windows
from benchmarks.results import spread, table, verdict
from client_sdk.protocol import Registry
from client_sdk.protocol.command_line import ExitStatus
from estimator.analyses.metric import estimate
from estimator.formats.json_documents import as_json
from estimator.render.html.page import as_html
from estimator.report.changes import changes_of
from estimator.report.conclusions import highlights_of
from estimator.report.report import make_report
from estimator.results.metric import MetricEstimate
from estimator.tallies import Tally, decode
from tests.support.devices.definitions import (
    BOOLEAN,
    CATEGORY,
    COUNT,
    CROSS,
    NUMBER,
    ORDINAL,
    SET,
    Field,
    registry_text,
)
from tests.support.estimates.pages import tallies
from tests.support.services.browser import DESKTOP, PHONE, chromium, opened

ROUNDS: Final = 3
PAINTS: Final = 5
MIB: Final = 2**20

EVERY_KIND: Final[list[dict[str, Field]]] = [
    BOOLEAN,
    BOOLEAN | {"permanent_epsilon": 2},
    BOOLEAN | {"fill_in": True},
    CATEGORY,
    CATEGORY | {"values": [f"value {number}" for number in range(40)]},
    ORDINAL,
    SET,
    NUMBER | {"statistic": "distribution", "low": 0, "high": 5000},
    COUNT,
    CROSS,
]


def measure_html() -> str:
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder, chromium() as browser:
        usual, histograms = Path(folder) / "usual.html", Path(folder) / "every_kind.html"
        seconds, processor = usual_seconds(Path(folder), usual)
        again = standing_seconds(Path(folder))
        waves_s, waves_used_s = histograms_seconds(Path(folder))
        mixed_s, mixed_used_s = mixed_seconds(Path(folder))
        alone, written = write_every_kind(histograms)
        pages = {"the usual kinds": usual, "every kind, with histograms": histograms}
        paints = {name: [first_paint_s(browser, file) for _ in range(PAINTS)] for name, file in pages.items()}
        sizes = {name: file.stat().st_size / MIB for name, file in pages.items()}
    slowest, largest = max(max(seconds) for seconds in paints.values()), max(sizes.values())
    return (
        "## HTML report\n\nA file has the tallies of 50 questions in 90 windows. Times include start-up; cells show "
        "the median (range).\n\n"
        + table(
            ("format", "seconds", "processor seconds"),
            [[form, spread(seconds[form], 2), spread(processor[form], 2)] for form in seconds],
        )
        + "\n"
        + table(
            ("page of", "MiB", "first paint, s"),
            [[name, f"{sizes[name]:.2f}", spread(paints[name], 2)] for name in pages],
        )
        + "\nThe usual kinds are those of `benchmarks/many_windows.py`. Estimating the histogram of a number from a "
        "single"
        f" tally takes **{alone:.2f} s**; windows of one question are estimated together. For {many_windows.HISTOGRAMS}"
        f" questions with histograms in {many_windows.WINDOWS} windows, JSON and HTML together take {waves_s:.0f} s"
        f" ({waves_used_s:.0f} s of processor time). The page of every kind, on which a tenth of the questions have"
        f" histograms, takes {mixed_s:.0f} s ({mixed_used_s:.0f} s of processor time, {written:.2f} s of it for writing"
        " the page).\n\nHTML: "
        + verdict(max(seconds["HTML"]) <= 10, f"{max(seconds['HTML']):.2f} s", "≤ 10 s")
        + "\nWriting the index, the digest and the page of all windows of an archive without new windows: "
        + verdict(max(again) <= 10, f"{spread(again, 2)} s", "≤ 10 s")
        + "\nJSON: "
        + verdict(max(seconds["JSON"]) <= 2, f"{max(seconds['JSON']):.2f} s", "≤ 2 s")
        + "\nThe larger page: "
        + verdict(largest <= 5, f"{largest:.2f} MiB", "≤ 5 MiB")
        + "\nThe slowest first paint: "
        + verdict(slowest <= 1, f"{slowest:.2f} s", "≤ 1 s")
    )


Seconds = dict[str, list[float]]


def usual_seconds(folder: Path, page: Path) -> tuple[Seconds, Seconds]:
    """Measure the command ``report`` for the metrics of a typical app, in JSON and in HTML.

    Return the elapsed seconds and the processor seconds. The page remains at the given path.
    """
    base = command(folder, many_windows.definitions())
    forms = {"JSON": ["--format", "json", "--output", str(folder / "report.json")], "HTML": ["--output", str(page)]}
    seconds: Seconds = {form: [] for form in forms}
    processor: Seconds = {form: [] for form in forms}
    for _ in range(ROUNDS):
        for form, options in forms.items():
            taken, used = command_seconds([*base, *options])
            seconds[form].append(taken)
            processor[form].append(used)
    return seconds, processor


def standing_seconds(folder: Path) -> list[float]:
    """Measure the time in which ``archive`` writes the page of all windows of these metrics."""
    metrics = many_windows.registry()
    report = make_report(metrics, decode(many_windows.tallies(metrics)))
    (folder / "metrics.toml").write_text(many_windows.definitions(), encoding="utf-8")
    (folder / "none.ndjson").touch()
    for window, of_window in groupby(sorted(report.metrics, key=_window), key=_window):
        archived = folder / "archive" / window / "report.json"
        archived.parent.mkdir(parents=True)
        alone = replace(report, metrics=tuple(of_window), changes=(), highlights=())
        archived.write_text(as_json(alone), encoding="utf-8")
    files = ["--registry", str(folder / "metrics.toml"), "--tallies", str(folder / "none.ndjson")]
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-m", "estimator", "archive", str(folder / "archive"), *files],
            check=False,
            capture_output=True,
        )
        seconds.append(time.perf_counter() - started)
        assert done.returncode == ExitStatus.NOTHING_NEW, done.stderr.decode()
    return seconds


def _window(estimated: MetricEstimate) -> str:
    return estimated.window


def histograms_seconds(folder: Path) -> tuple[float, float]:
    """Measure JSON and HTML together, for metrics with a histogram.

    The result is as in `command_seconds`.
    """
    base = command(folder, many_windows.histograms())
    runs = [command_seconds([*base, "--output", str(folder / f"histograms.{form}")]) for form in ("json", "html")]
    return sum(taken for taken, _ in runs), sum(used for _, used in runs)


def mixed_seconds(folder: Path) -> tuple[float, float]:
    """Measure a page with every kind of metric. The result is as in `command_seconds`."""
    return command_seconds([*command(folder, every_kind()), "--output", str(folder / "mixed.html")])


def command(folder: Path, metrics: str) -> list[str]:
    """Write a registry and tallies, and return the command for a report."""
    registry, lines = folder / "metrics.toml", folder / "tallies.ndjson"
    registry.write_text(metrics, encoding="utf-8")
    lines.write_bytes(b"".join(many_windows.tallies(Registry.parse(metrics))))
    return [sys.executable, "-m", "estimator", "report", "--registry", str(registry), "--tallies", str(lines)]


def command_seconds(arguments: list[str]) -> tuple[float, float]:
    started, used = time.perf_counter(), children_s()
    subprocess.run(arguments, check=True, capture_output=True)
    return time.perf_counter() - started, children_s() - used


def children_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def every_kind() -> str:
    """Return 50 metrics of every kind, and a pair of metrics, as TOML."""
    named = {f"metric_{number:02}": EVERY_KIND[number % len(EVERY_KIND)] for number in range(50)}
    text = registry_text(dark_mode=BOOLEAN, os=CATEGORY, **named).replace("lifetime = 400", "lifetime = 4000")
    return text.replace("per_window = 20", "per_window = 200")


def write_every_kind(page: Path) -> tuple[float, float]:
    """Write a page with every kind of metric.

    Return the seconds to estimate one histogram, and to write the page. Each metric is estimated in
    only one window. The other windows repeat the figures of this window, because the time of other
    estimates is not measured here.
    """
    registry = Registry.parse(every_kind())
    report = make_report(registry, decode(tallies(registry, range(1)).splitlines()))
    windows = [(date(2026, 8, 1) + timedelta(day)).isoformat() for day in range(many_windows.WINDOWS)]
    metrics = tuple(replace(estimated, window=window) for estimated in report.metrics for window in windows)
    started = time.perf_counter()
    of_all = replace(
        report,
        metrics=metrics,
        highlights=highlights_of(metrics, registry.metrics, changes_of(metrics, registry.metrics)),
    )
    page.write_text(as_html(of_all, registry), encoding="utf-8")
    written = time.perf_counter() - started
    return median(histogram_seconds(registry)), written


def histogram_seconds(registry: Registry) -> Iterator[float]:
    metric = next(metric for metric in registry.metrics.values() if metric.kind.name == "number")
    tally: Tally = next(
        tally for tally in decode(tallies(registry, range(1)).splitlines()) if tally.metric == metric.name
    )
    for _ in range(ROUNDS):
        started = time.perf_counter()
        estimate(metric, tally)
        yield time.perf_counter() - started


def first_paint_s(browser: Browser, file: Path) -> float:
    """Measure the seconds until the browser shows the first text of a page.

    Return the maximum over two sizes of the window: a desktop and a phone.
    """
    script = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
    times = []
    for size in (DESKTOP, PHONE):
        with opened(browser, file, size) as opened_page:
            opened_page.page.wait_for_function(f"() => {script.removesuffix('.startTime')} !== undefined")
            times.append(float(opened_page.page.evaluate(script)) / 1000)
    return max(times)
