"""The plot of each kind of result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final

from estimator.render.html.figure_groups import groups_of
from estimator.render.html.numbers import PERCENT
from estimator.render.plots.figures import LONGEST_TITLE, NO_REPORTS, NO_TEXTS, mark_zero, over_time, plain, points
from estimator.render.plots.library import BAND_OPACITY, BLUE, VERMILION, new_axes, pyplot
from estimator.render.sentences import headline, leader
from estimator.render.words import cluster_words, coordinate_words, label_of, text_label
from estimator.report.highlights import first_shown, largest_coordinates, shown_values
from estimator.results.changes import Changes
from estimator.results.clusters import Clusters
from estimator.results.distribution import Distribution
from estimator.results.highlight import SHOWN_VALUES
from estimator.results.joint import Joint
from estimator.results.metric import MetricEstimate
from estimator.results.pooled import Pooled
from estimator.results.record import Record
from estimator.results.report import EstimateReport
from estimator.words import in_unit, mean_word

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SHARE_LABEL: Final = "share of devices, %"
INCHES_A_QUESTION: Final = 2.6


def plot(shown: Record, ax: Axes | None) -> Axes | Figure:
    """Return the axes of a result, or the figure of a report.

    Raises:
        MissingLibraryError: if matplotlib is not installed.
        TypeError: if a report is to be drawn on given axes.

    """
    if isinstance(shown, EstimateReport):
        if ax is not None:
            raise TypeError("a report is drawn on axes of its own; plot one of its metrics to choose them")
        return _report(shown)
    axes = new_axes() if ax is None else ax
    DRAWN[type(shown)](shown, axes)
    return axes


def _report(report: EstimateReport) -> Figure:
    by_metric = groupby(report.metrics, key=lambda estimated: estimated.metric)
    questions = [list(windows) for _, windows in by_metric]
    rows, columns = max(1, len(questions)), 1 + any(len(windows) > 1 for windows in questions)
    figure, axes = pyplot().subplots(
        rows, columns, figsize=(4.8 * columns, INCHES_A_QUESTION * rows), squeeze=False, layout="constrained"
    )
    for (first, *others), windows in zip(axes, questions, strict=False):
        _metric(first_shown(windows), first)
        for beside in others:
            _over_time(windows, beside)
    drawn: Figure = figure
    return drawn


def _over_time(windows: Sequence[MetricEstimate], axes: Axes) -> None:
    """Draw the figure that the answer is about, over the windows."""
    shown = first_shown(windows)
    if shown.texts is not None:  # other texts are found in every window
        axes.set_axis_off()
        return
    position = leader(shown)
    label = mean_word(shown.kind) if shown.estimates is None else label_of(shown.estimates.labels[position])
    axes.set_title(plain(f"{label} over time", LONGEST_TITLE))
    if shown.coordinates is not None:
        axes.set_title(plain(f"{coordinate_words(shown.coordinates[position].value)} over time", LONGEST_TITLE))
        of_windows = [(each.span.first_day, headline(each, position)) for each in windows if each.reports]
        over_time(axes, [(day, figure) for day, figure in of_windows if figure is not None])
    elif shown.estimates is None:
        over_time(axes, [(each.span.first_day, each.mean) for each in windows if each.mean is not None])
        axes.set_ylabel(plain(in_unit(mean_word(shown.kind), shown.unit)))
    else:
        over_time(
            axes,
            [(each.span.first_day, each.estimates[position]) for each in windows if each.estimates is not None],
            100,
        )
        axes.set_ylabel("%")


def _metric(estimated: MetricEstimate, axes: Axes) -> None:
    axes.set_title(plain(f"{estimated.metric}, {estimated.window}", LONGEST_TITLE))
    if estimated.distribution is not None and estimated.reports:
        _distribution(estimated.distribution, axes)
        axes.set_xlabel(plain(in_unit("answer", estimated.unit)))
        return
    if estimated.texts is not None:
        listed = [*(estimated.texts.found or ()), *(estimated.texts.named or ())][:SHOWN_VALUES]
        nothing = NO_TEXTS if estimated.reports else NO_REPORTS
        points(axes, [(text_label(share.value), share) for share in listed], 100.0, nothing)
        axes.set_xlabel(SHARE_LABEL)
        return
    group = next(iter(groups_of(estimated, shown_values(estimated))))
    points(axes, group.figures, 10.0**group.unit.power)
    axes.set_xlabel(SHARE_LABEL if group.unit is PERCENT else plain(in_unit(group.title.lower(), estimated.unit)))


def _distribution(distribution: Distribution, axes: Axes) -> None:
    band = distribution.band
    at = [point.at for point in band]
    lows = [100 * point.low for point in band]
    # between two answers the function lies from the first's lower to the second's upper end
    highs = [100 * point.high for point in (*band[1:], *band[-1:])]
    axes.fill_between(at, lows, highs, color=BLUE, alpha=BAND_OPACITY, linewidth=0, step="post")
    axes.plot(at, [100 * (point.estimate or 0.0) for point in band], color=BLUE)
    for quantile in distribution.quantiles:
        axes.hlines(100 * quantile.quantile, quantile.low, quantile.high, colors=VERMILION, linewidth=2)
    axes.set_xlabel("answer")
    axes.set_ylabel("devices up to there, %")
    axes.grid(alpha=0.3)


def _joint(joint: Joint, axes: Axes) -> None:
    if joint.is_of_means:
        points(axes, [(label_of(group.group), group.estimates[0]) for group in joint.groups])
        axes.set_xlabel(plain(f"mean of {joint.names[1]}") if joint.names is not None else mean_word(""))
        return
    shares = [[100 * (share.estimate or 0.0) for share in group.estimates] for group in joint.groups]
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=100, alpha=0.6, aspect="auto")
    for row, group in enumerate(joint.groups):
        for column, share in enumerate(group.estimates):
            rounded = PERCENT.rounded(share)
            text = f"{rounded.estimate}{rounded.suffix}\n{rounded.interval}" if rounded.estimate else "too few"
            axes.text(column, row, text, ha="center", va="center", fontsize="small")
    axes.set_xticks(range(len(shares[0])), [plain(label_of(share.value)) for share in joint.groups[0].estimates])
    axes.set_yticks(range(len(shares)), [plain(label_of(group.group)) for group in joint.groups])
    if joint.names is not None:
        axes.set_ylabel(plain(joint.names[0]))
        axes.set_xlabel(plain(joint.names[1]))


def _changes(changes: Changes, axes: Axes) -> None:
    shares = [(label_of(change.value), change) for change in changes.estimates]
    if shares:
        points(axes, shares, 100.0)
        axes.set_xlabel("change, points")
    elif changes.mean is not None:
        points(axes, [(mean_word(""), changes.mean)])
        axes.set_xlabel("change of the mean")
    mark_zero(axes)
    axes.set_title(plain(f"{changes.metric}, {changes.first} to {changes.last}", LONGEST_TITLE))


def _clusters(clusters: Clusters, axes: Axes) -> None:
    points(axes, [(cluster_words(cluster), cluster.share) for cluster in clusters.clusters], 100.0)
    axes.set_xlabel(SHARE_LABEL)


def _pooled(pooled: Pooled, axes: Axes) -> None:
    if pooled.estimates:
        points(axes, [(label_of(share.value), share) for share in pooled.estimates], 100.0)
        axes.set_xlabel(SHARE_LABEL)
    elif pooled.coordinates is not None:
        largest = largest_coordinates(pooled.coordinates)
        points(axes, [(coordinate_words(position), pooled.coordinates[position]) for position in largest])
        axes.set_xlabel("mean of each coordinate")
    elif pooled.mean is not None:
        points(axes, [(mean_word(pooled.kind), pooled.mean)])
        axes.set_xlabel(plain(in_unit("mean", pooled.unit)))
    axes.set_title(plain(f"{pooled.metric}, {pooled.windows[0]} to {pooled.windows[-1]} together", LONGEST_TITLE))


DRAWN: Final[dict[type[Record], Callable[[Any, Axes], None]]] = {
    MetricEstimate: _metric,
    Distribution: _distribution,
    Joint: _joint,
    Changes: _changes,
    Clusters: _clusters,
    Pooled: _pooled,
}
