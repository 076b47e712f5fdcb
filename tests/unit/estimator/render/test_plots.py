"""Every kind of figure is drawn where its numbers are."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator

import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.axes import Axes

import estimator
from client_sdk.protocol import Registry
from estimator.render.plots.draw import DRAWN
from estimator.report.highlights import largest_coordinates
from estimator.results.estimate import Estimate, Share
from estimator.results.highlight import SHOWN_VALUES
from estimator.results.metric import MetricEstimate
from estimator.results.report import EstimateReport
from estimator.results.shown import Plotted, Shown
from estimator.tallies.read import decode
from tests.support.devices.definitions import BOOLEAN, CATEGORY, COUNT, CROSS, NUMBER, TEXT, VECTOR, registry_text
from tests.support.estimates.pages import tallies

REGISTRY = Registry.parse(
    registry_text(
        dark_mode=BOOLEAN,
        os=CATEGORY | {"values": ["$a$", "b_c", "<b>"]},
        startup_ms=NUMBER | {"unit": "ms"},
        steps=COUNT | {"max": 40, "statistic": "quantiles", "epsilon": 4},
        both=CROSS,
        embedding=VECTOR | {"length": 60, "epsilon": 4},
    )
)


@pytest.fixture(scope="module")
def report() -> EstimateReport:
    lines = decode(tallies(REGISTRY, range(2)).splitlines())
    return estimator.estimate(REGISTRY, lines, pool=True, clusters=True)


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    plt.switch_backend("agg")
    yield
    plt.close("all")


def metric(report: EstimateReport, name: str) -> MetricEstimate:
    return next(estimated for estimated in report.metrics if estimated.metric == name)


def marked(axes: Axes) -> list[float]:
    """Return where the dots are."""
    dots = [np.asarray(line.get_xdata(), dtype=float) for line in axes.lines if line.get_marker() == "o"]
    return [float(x) for line in dots for x in line]


def bars(axes: Axes) -> list[tuple[float, float]]:
    """Return the ends of the intervals."""
    paths = [np.asarray(path.vertices) for each in axes.collections for path in each.get_paths()]
    return [(float(path[0][0]), float(path[1][0])) for path in paths]


def middles(shares: Iterable[Estimate], mean: Estimate | None) -> list[float | None]:
    """Return the estimates in the unit that is drawn."""
    percents: list[float | None] = [100 * (share.estimate or 0) for share in shares]
    return percents or [None if mean is None else mean.estimate]


@pytest.mark.slow
def test_shares_are_dots_on_their_intervals_in_percent(report: EstimateReport) -> None:
    estimated = metric(report, "os")
    assert estimated.estimates is not None
    axes = estimated.plot()
    assert marked(axes) == [100 * (share.estimate or 0) for share in estimated.estimates]
    assert bars(axes) == [(100 * share.low, 100 * share.high) for share in estimated.estimates]
    assert [label.get_text() for label in axes.get_yticklabels()] == [r"\$a\$", "b_c", "<b>"]


@pytest.mark.slow
def test_the_largest_coordinates_are_dots_on_their_intervals(report: EstimateReport) -> None:
    coordinates = metric(report, "embedding").coordinates
    assert coordinates is not None
    largest = sorted(sorted(coordinates, key=lambda each: -abs(each.estimate or 0))[:SHOWN_VALUES], key=int_of)
    axes = metric(report, "embedding").plot()
    assert marked(axes) == [each.estimate for each in largest]
    assert bars(axes) == [(each.low, each.high) for each in largest]
    first = max(coordinates, key=lambda each: abs(each.estimate or 0))
    assert f"coordinate {first.value} over time" in [axes.get_title() for axes in report.plot().axes]


def int_of(coordinate: Share) -> int:
    return int(str(coordinate.value))


def test_means_changes_and_pooled_windows_are_drawn_where_they_are(report: EstimateReport) -> None:
    mean = metric(report, "startup_ms")
    assert mean.mean is not None
    assert marked(mean.plot()) == [mean.mean.estimate]
    for changes in report.changes:
        assert marked(changes.plot()) == middles(changes.estimates, changes.mean)
    for pooled in report.pooled:
        largest = () if pooled.coordinates is None else largest_coordinates(pooled.coordinates)
        coordinates = [pooled.coordinates[position].estimate for position in largest if pooled.coordinates]
        assert marked(pooled.plot()) == (coordinates or middles(pooled.estimates, pooled.mean))


def test_a_distribution_is_its_function_with_quantiles(report: EstimateReport) -> None:
    distribution = metric(report, "steps").distribution
    assert distribution is not None
    axes = distribution.plot()
    (function,) = axes.lines
    assert list(function.get_ydata()) == [100 * (point.estimate or 0) for point in distribution.band]
    ends = bars(axes)[-len(distribution.quantiles) :]
    assert ends == [(quantile.low, quantile.high) for quantile in distribution.quantiles]
    assert metric(report, "steps").plot().get_xlabel() == "answer"


def test_groups_are_a_map_with_numbers_and_clusters_are_shares(report: EstimateReport) -> None:
    joint = metric(report, "both").joint
    assert joint is not None
    texts = [text.get_text() for text in joint.plot().texts]
    assert len(texts) == sum(len(group.estimates) for group in joint.groups)
    assert all(" to " in text and "%" in text for text in texts)
    clusters = metric(report, "steps").clusters
    assert clusters is not None
    assert marked(clusters.plot()) == [100 * (cluster.share.estimate or 0) for cluster in clusters.clusters]


@pytest.mark.slow
def test_a_report_has_a_row_for_each_question_and_its_windows_beside(report: EstimateReport) -> None:
    figure = report.plot()
    assert len(figure.axes) == 2 * len(REGISTRY.metrics)
    assert figure.axes[1].get_title() == "yes over time"
    figure.canvas.draw()
    with pytest.raises(TypeError, match="plot one of its metrics"):
        report.plot(figure.axes[0])


def test_given_axes_are_used(report: EstimateReport) -> None:
    _, axes = plt.subplots()
    assert metric(report, "os").plot(axes) is axes


def test_what_nobody_reported_is_said_so() -> None:
    silent = json.loads(tallies(REGISTRY, range(1)).splitlines()[0]) | {"reports": 0, "counts": [0, 0]}
    report = estimator.estimate(REGISTRY, decode([json.dumps(silent).encode()]))
    assert [text.get_text() for text in report.metrics[0].plot().texts] == ["no reports"]
    report.plot().canvas.draw()


def test_texts_are_dots_on_their_intervals_and_none_are_said_to_be_none() -> None:
    registry = Registry.parse(registry_text(dark_mode=BOOLEAN, word=TEXT))
    report = estimator.estimate(registry, decode(tallies(registry, range(2)).splitlines()), candidates=["zebra"])
    axes = metric(report, "word").plot()
    assert [label.get_text() for label in axes.get_yticklabels()] == ["the", "zebra"]
    assert bars(axes)[0][0] < marked(axes)[0] <= bars(axes)[0][1]
    report.plot().canvas.draw()
    for reports, said in ((0, "no reports"), (1, "no text was found")):
        word = registry.metric("word")
        counts = [reports, *[0] * (word.channel.symbols - 1)]
        fields = {"metric": "word", "edition": word.edition, "window": "2026-11-20", "closed": True}
        few = estimator.estimate(
            registry, decode([json.dumps(fields | {"reports": reports, "counts": counts}).encode()])
        )
        assert [text.get_text() for text in few.metrics[0].plot().texts] == [said]


def subclasses(kind: type) -> set[type]:
    below: list[type] = kind.__subclasses__()
    return {kind, *(each for direct in below for each in subclasses(direct))}


def test_every_result_that_promises_a_plot_has_one() -> None:
    assert subclasses(Plotted) - {Plotted, Shown, EstimateReport} == set(DRAWN)


def test_without_the_library_the_error_says_what_to_install(
    report: EstimateReport, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(estimator.MissingLibraryError, match=r"pip install 'hearsay-ldp\[plot\]'"):
        report.plot()
