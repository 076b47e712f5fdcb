"""Several windows of one question pooled.

The estimate over all reports is a sum over windows whose weights are their reports. Its error
allows for the same people in every window (`estimator.report.same_people`): however many windows
there are, it is at least that of the choice of people.

Of the coordinates of vectors only the choice of people may be the same: each window has rotations
of its own, so that the noise and the error of finitely many rotations are new. Of the variance of a
coordinate, people can make no more than

* what is left beyond the least noise of the mechanism, and
* the squared norm less the squared length of the mean: that of all coordinates together.

The first bound is sharp where reports are few, the second where the rotations matter. Both are
taken over all windows, since those of one window are uncertain.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.metric import Metric
from estimator.analyses.analysis import question_fields
from estimator.analyses.metric import analysis_of
from estimator.decoders.decoder import LEAST_NOISE
from estimator.report.same_people import means_of
from estimator.results.estimate import Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import MetricEstimate, Pooled
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW, Z


def pooled(estimates: Sequence[MetricEstimate], metrics: Mapping[str, Metric]) -> tuple[Pooled, ...]:
    """Pool the windows of every metric with reports in more than one, in the order of the metrics.

    Args:
        estimates: in the order of the metrics, then of the windows.
        metrics: the definitions, by name.

    """
    with_reports = [each for each in estimates if each.reports and _can_be_pooled(each)]
    groups = ((name, list(windows)) for name, windows in groupby(with_reports, key=lambda estimated: estimated.metric))
    return tuple(_pool(metrics[name], windows) for name, windows in groups if len(windows) > 1)


def _can_be_pooled(estimated: MetricEstimate) -> bool:
    """Whether figures add up over windows. Each window of a model has a model of its own."""
    return all(group.about.pooled or not group.about.by_value for group in estimated.groups)


def _pool(metric: Metric, windows: list[MetricEstimate]) -> Pooled:
    of_first = [group for group in windows[0].groups if group.about.pooled]
    groups = [[window.group(group.statistic) for window in windows] for group in of_first]
    return Pooled(
        **question_fields(metric),
        windows=tuple(window.window for window in windows),
        reports=sum(window.reports for window in windows),
        groups=tuple(_pool_group(metric, windows, [each for each in group if each is not None]) for group in groups),
    )


def _pool_group(metric: Metric, windows: list[MetricEstimate], groups: list[FigureGroup]) -> FigureGroup:
    first = groups[0]
    ends, scale = first.ends or SHARES, first.about.scale
    if not first.about.is_compared:
        coordinates = [(window.reports, group.figures) for window, group in zip(windows, groups, strict=True)]
        return replace(first, figures=pooled_coordinates(analysis_of(metric).least_noise, coordinates, ends[1]))
    reports = np.array([[float(window.reports) for window in windows]])
    sums = means_of(windows, first.statistic, metric).weighted(reports / reports.sum())
    if reports.sum() < EXACT_BELOW:
        sums = sums.unbounded()
    means = sums.figures(first.figures, 0, scale.inner_ends(ends))
    if scale.is_relative:
        means = Figures.from_rows(scale.shown(mean, ends).labelled(mean.value) for mean in means)
    return replace(first, figures=means)


def pooled_coordinates(least_noise: float, windows: list[tuple[int, Figures]], norm: float) -> Figures:
    """Return the mean of each coordinate over all reports.

    Args:
        least_noise: the least variance that the mechanism gives to a coordinate of one report.
        windows: the number of reports, at least 1, and the coordinates of each window.
        norm: the greatest length of a vector.

    """
    each = np.array([reports for reports, _ in windows], dtype=float)[:, np.newaxis]
    total = float(each.sum())
    estimates, errors = (np.array([getattr(of, name) for _, of in windows]) for name in ("unbiased", "standard_errors"))
    mean = (each * estimates).sum(axis=0) / total
    people = _variance_of_people(each, errors, mean, norm, least_noise)
    fresh = np.maximum(errors**2 - people / each, 0.0)
    noise = (each**2 * fresh).sum(axis=0) / (2 * norm * len(windows)) ** 2
    averaging = np.sqrt((each**2 * fresh).sum(axis=0) + people * np.sqrt(each).sum() ** 2)
    error = np.where(noise < LEAST_NOISE, (each * errors).sum(axis=0), averaging) / total
    reach = _widest_stretch(windows) * Z * error if total >= EXACT_BELOW else np.inf
    lows, highs = (np.clip(mean + side * reach, -norm, norm) for side in (-1, 1))
    return Figures(windows[0][1].labels, lows, highs, mean, error)


def _variance_of_people(each: Floats, errors: Floats, mean: Floats, norm: float, noise: float) -> Floats:
    """Return the most that the vectors of people can vary in each coordinate, shape (d,)."""
    total = each.sum()
    of_report = (each**2 * errors**2).sum(axis=0) / total  # all of the variance, as if of one report
    uncertain = (((each * errors).sum(axis=0) / total) ** 2).sum()
    most = norm**2 - max(0.0, float((mean**2).sum() - uncertain))
    varying: Floats = np.clip(of_report - noise, 0.0, max(0.0, most))
    return varying


def _widest_stretch(windows: list[tuple[int, Figures]]) -> float:
    """Return by how much intervals are wider than normal ones.

    It is that of the widest, since ends may be cut off. Those of few reports are everything, and
    tell it only if there are no others.
    """
    enough = [of for reports, of in windows if reports >= EXACT_BELOW] or [of for _, of in windows]
    sides = (np.maximum(of.highs - of.unbiased, of.unbiased - of.lows) / of.standard_errors for of in enough)
    return max(1.0, max(float(side.max()) for side in sides) / Z)
