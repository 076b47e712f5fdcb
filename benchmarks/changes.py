"""The width and the coverage of intervals for changes between windows.

The intervals are valid even if people change to the opposite answer. A second measurement is the
time to search many windows of many metrics for changes.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from benchmarks import many_windows
from benchmarks.coverage.windows import OPPOSITE, Survey
from benchmarks.results import table, verdict
from client_sdk.protocol import Metric
from estimator.report.changes import changes_of, compare
from estimator.report.report import make_report
from estimator.results.estimate import Estimate
from estimator.tallies import decode
from tests.support.devices.definitions import BOOLEAN, NUMBER, metric_of
from tests.support.estimates.coverage import PROMISED
from tests.support.estimates.populations import Population, at

REPORTS: Final = 2000
DRAWS: Final = 1000

HALF: Final = at({0.0: 0.5, 1.0: 0.5})
RARE: Final = at({0.0: 0.98, 1.0: 0.02})
EVEN: Final = at(dict.fromkeys((np.arange(100) / 99).tolist(), 0.01))

ROWS: Final[Sequence[tuple[str, Metric, Population]]] = [
    *((f"half say yes, at epsilon {each}", metric_of(BOOLEAN, epsilon=each), HALF) for each in (0.5, 1, 2, 4, 8)),
    *((f"2% say yes, then 98%, at epsilon {each}", metric_of(BOOLEAN, epsilon=each), RARE) for each in (1, 4, 8)),
    *(
        (f"mean, answers evenly spread, at epsilon {each}", metric_of(NUMBER, epsilon=each), EVEN)
        for each in (0.5, 1, 4, 8)
    ),
]
"""For each row of the table: its name, the metric, and the population that answers."""


_Figures = tuple[float, float]


def measure_changes() -> str:
    rows, least = [], 1.0
    for name, metric, people in ROWS:
        independent, allowing = (np.array(each) for each in zip(*_drawn(metric, people), strict=True))
        (narrow, held_before), (wide, held) = independent.mean(axis=0), allowing.mean(axis=0)
        rows.append([name, f"{narrow:.4f}", f"{wide:.4f}", f"{wide / narrow:.2f}", f"{held_before:.3f}", f"{held:.3f}"])
        least = min(least, float(held))
    heading = ("figure", "width, independent", "width, Hearsay", "ratio", "coverage, independent", "coverage, Hearsay")
    return (
        "## Changes\n\n"
        f"The width is the mean width of the 95% interval of a change between two windows of {REPORTS:,} reports,\n"
        f"as a share of the range. The coverage is how often the interval contains the true change in {DRAWS:,}\n"
        "draws, if the same people give the opposite answer in the second window. *Independent* is an interval\n"
        "that assumes different people in the two windows.\n\n"
        + table(heading, rows)
        + "\nThe lowest coverage: "
        + verdict(least >= PROMISED, f"{least:.3f}", f"≥ {PROMISED}")
        + _search()
    )


WINDOWS: Final = (10, 30, 90)
RUNS: Final = 5
MOST_S: Final = 2.0
"""The goal: the maximum processor time, in seconds, for 50 metrics in 90 windows."""


def _search() -> str:
    """Measure how long it takes to search the metrics of a typical app for changes."""
    registry, rows, slowest = many_windows.registry(), [], 0.0
    for windows in WINDOWS:
        estimated = make_report(registry, decode(many_windows.tallies(registry, windows))).metrics
        seconds, figures = [], 0
        for _ in range(RUNS):
            begin = time.process_time()
            figures = sum(each.tests for each in changes_of(estimated, registry.metrics))
            seconds.append(time.process_time() - begin)
        slowest = max(seconds)
        low, median, high = min(seconds), statistics.median(seconds), slowest
        rows.append([f"{windows}", f"{figures * (windows + 1):,}", f"{median:.2f} ({low:.2f} to {high:.2f})"])
    return (
        f"\n\nThe search for changes in {len(registry.metrics)} estimated questions of `benchmarks/many_windows.py` "
        "takes "
        "these processor seconds, as median (range):\n\n"
        + table(("windows", "tested sums", "seconds"), rows)
        + "\nThe slowest search: "
        + verdict(slowest <= MOST_S, f"{slowest:.2f} s", f"≤ {MOST_S:g} s")
    )


def _drawn(metric: Metric, people: Population) -> Iterator[tuple[_Figures, _Figures]]:
    """Yield, for each draw, the width of two intervals, and whether each contains the true change.

    The first interval treats windows as independent. The second is the interval in reports.
    """
    survey = Survey(metric, people, (REPORTS, REPORTS), OPPOSITE)
    generator = np.random.default_rng(15)
    for first, last in survey.estimated(DRAWS, generator):
        both = (compare(first, last, each) for each in (None, metric))
        before, after = (each.differences(each.p_values)[-1].figures[-1] for each in both)
        yield _figures(before, survey), _figures(after, survey)


def _figures(change: Estimate, survey: Survey) -> _Figures:
    truth = survey.true_changes[-1]
    return (change.high - change.low) / survey.width, float(change.low <= truth <= change.high)


if __name__ == "__main__":
    sys.stdout.write(measure_changes())
