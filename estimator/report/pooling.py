"""Several windows of one question pooled, and their difference.

The same people may have answered in every window, and nobody knows whether they did. The part of
the error that is new in each report, the noise of its mechanism, averages out over all reports. The
part that may be the same every time (the choice of people, and the noise of permanent answers) is
taken to be exactly the same. Its standard errors therefore add up, weighted with the reports, and
do not shrink with the number of windows. The combined error is never below the true one
(Minkowski's inequality), except for the error of estimating it. Both parts are stretched as far as
the interval of their window is wider than that of a normal estimate.

If the same people answered in every window, their noise averages out, but a few of them at an end
of the range remain a few. Where the noise that is left is too small for a normal interval (see
`LEAST_NOISE`), all of the error is taken to be the same in every window.

The change from the first window to the last is that of `estimator.report.changes`.

Of the coordinates of vectors only the choice of people may be the same: each window has rotations
of its own, so that the noise and the error of finitely many rotations are new. Of the variance of a
coordinate, people can make no more than

* what is left beyond the least noise of the mechanism, and
* the squared norm less the squared length of the mean: that of all coordinates together.

The first bound is sharp where reports are few, the second where the rotations matter. Both are
taken over all windows, since those of one window are uncertain.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

import numpy as np
from msgspec.structs import replace as replace_fields

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.metric import Metric
from estimator.analyses.analysis import question_fields
from estimator.analyses.metric import analysis_of
from estimator.decoders.decoder import LEAST_NOISE
from estimator.decoders.permanent import first_step
from estimator.report.changes import compare, least_noise, reaches
from estimator.results.estimate import Estimate, Figures
from estimator.results.group import SHARES, FigureGroup
from estimator.results.metric import MetricEstimate, Pooled
from estimator.statistics.arrays import Floats
from estimator.statistics.confidence import EXACT_BELOW, Z


@dataclass(frozen=True, slots=True)
class _Part:
    """One figure of one window: its estimate, and the two parts of its standard error.

    Attributes:
        reports: of the window.
        estimate: unbiased.
        fresh: the part of the error that is new in each report.
        lasting: the part that may be the same in every window.
        stretch: of the distances down and up to the ends of the window's interval, over those of a
            normal one; at least 1.

    """

    reports: int
    estimate: float
    fresh: float
    lasting: float
    stretch: tuple[float, float]


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
        changes=compare(windows[0], windows[-1], metric).groups,
    )


def _pool_group(metric: Metric, windows: list[MetricEstimate], groups: list[FigureGroup]) -> FigureGroup:
    first = groups[0]
    ends, scale = first.ends or SHARES, first.about.scale
    least, most = scale.inner_ends(ends)
    if not first.about.is_compared:
        coordinates = [(window.reports, group.figures) for window, group in zip(windows, groups, strict=True)]
        return replace_fields(first, figures=pooled_coordinates(analysis_of(metric).least_noise, coordinates, most))
    figures = []
    for shown in zip(*(group.figures for group in groups), strict=True):
        of_windows = [scale.averaged(figure) for figure in shown]
        at = _middle(windows, of_windows)
        parts = [
            _of_share(metric, window, figure, at)
            if first.about.is_share
            else _of_mean(metric, window, figure, (least, most), at)
            for window, figure in zip(windows, of_windows, strict=True)
        ]
        figures.append(scale.shown(_together(parts, least, most), ends).labelled(shown[0].value))
    return replace_fields(first, figures=Figures.from_rows(figures))


def _middle(windows: Sequence[MetricEstimate], of_windows: Sequence[Estimate]) -> float:
    """Return the estimate over all windows.

    At each window's own estimate the lasting part would come out too small.
    """
    reports = [window.reports for window in windows]
    return math.fsum(weight * _known(figure)[0] for weight, figure in zip(reports, of_windows, strict=True)) / sum(
        reports
    )


def _of_share(metric: Metric, window: MetricEstimate, share: Estimate, at: float) -> _Part:
    """Divide the error of a share into its two parts.

    People, and permanent answers, are a sample of the shares they would have.
    """
    estimate, error = _known(share)
    gap, lie = _first_step(metric.channel)
    permanent = lie + gap * min(1.0, max(0.0, at))
    lasting = min(error, math.sqrt(permanent * (1 - permanent) / window.reports) / gap)
    return _Part(window.reports, estimate, math.sqrt(error**2 - lasting**2), lasting, _stretch(share))


def _of_mean(metric: Metric, window: MetricEstimate, mean: Estimate, ends: tuple[float, float], at: float) -> _Part:
    """Divide the error of a mean. The least noise of the mechanism is fresh; all else may last."""
    estimate, error = _known(mean)
    least, most = ends
    position = min(1.0, max(0.0, (at - least) / (most - least)))
    fresh = min(error, math.sqrt(_least_noise(metric, position) / window.reports) * (most - least))
    return _Part(window.reports, estimate, fresh, math.sqrt(error**2 - fresh**2), _stretch(mean))


def _least_noise(metric: Metric, position: float) -> float:
    """Return the least variance of fresh noise in a report, for a mean from 0 to 1."""
    channel = metric.channel
    gap, _ = _first_step(channel)
    return least_noise(metric, channel.last_step, position) / gap**2


def _first_step(channel: Channel) -> tuple[float, float]:
    """Return permanent answers' factor on a share, and the share of an absent value."""
    if not channel.permanent_nanos:
        return 1.0, 0.0
    first = first_step(channel)
    keep, lie = (float(first.probability(0, given)) for given in (0, 1))
    return keep - lie, lie


def _stretch(figure: Estimate) -> tuple[float, float]:
    normal = Z * _known(figure)[1]
    down, up = reaches(figure)
    return down / normal, up / normal


def _known(figure: Estimate) -> tuple[float, float]:
    assert figure.estimate is not None  # noqa: S101 windows without reports are left out
    assert figure.standard_error is not None  # noqa: S101 likewise
    return figure.estimate, figure.standard_error


def _together(parts: Sequence[_Part], least: float, most: float) -> Estimate:
    reports = sum(part.reports for part in parts)
    estimate = math.fsum(part.reports * part.estimate for part in parts) / reports
    error = _error(parts, [1.0] * len(parts))
    if reports < EXACT_BELOW:
        return Estimate(estimate, error, least, most, None)
    noise = math.fsum((part.reports * part.fresh) ** 2 for part in parts) / ((most - least) * len(parts)) ** 2
    if noise < LEAST_NOISE:
        parts = [replace(part, fresh=0.0, lasting=math.hypot(part.fresh, part.lasting)) for part in parts]
    down, up = (Z * _error(parts, stretches) for stretches in zip(*(part.stretch for part in parts), strict=True))
    low, high = (min(most, max(least, end)) for end in (estimate - down, estimate + up))
    return Estimate(estimate, error, low, high, None)


def _error(parts: Sequence[_Part], stretches: Sequence[float]) -> float:
    """Return the error over all windows, with that of each stretched."""
    weights = [part.reports * stretch for part, stretch in zip(parts, stretches, strict=True)]
    fresh = math.fsum((weight * part.fresh) ** 2 for weight, part in zip(weights, parts, strict=True))
    lasting = math.fsum(weight * part.lasting for weight, part in zip(weights, parts, strict=True))
    return math.hypot(math.sqrt(fresh), lasting) / sum(part.reports for part in parts)


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
