"""Estimates for numbers, counts and days of use: means, distributions, and shares of counts.

A device rounds its number at random to a point of an evenly spaced grid. The channel has one input
for each point.

A smoothed histogram gives the estimated quantiles, variance and shares. Smoothing biases these
estimates. The package `distribution_intervals` computes intervals that are valid for every
population. An estimate outside its interval is moved to the nearer end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace as replace_kind
from typing import Any, Final, TypeVar

import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.kinds.grid import Grid
from client_sdk.protocol.kinds.number import Activity, Count
from client_sdk.protocol.mechanisms.catalogue import channel_for
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.analyses.answers import OneOfLabels, OneSymbol, shares_of
from estimator.analyses.clips import Clip, Numbers, clips_of, with_exponential_tail
from estimator.analyses.clusters import clusters_of_histogram
from estimator.analyses.means import Contrast, means_of, worst_variance
from estimator.analyses.means import mean_of as mean_of_scores
from estimator.decoders.decoder import Decoder
from estimator.decoders.inversions import decoder_of
from estimator.distribution_intervals.intervals import (
    band,
    band_places,
    quantile_intervals,
    shares_of_ranges,
    variance_interval,
)
from estimator.distribution_intervals.ranges import TallyRanges
from estimator.errors import UnfitTallyError
from estimator.likelihood.histogram import Fit, Histogram, fit_of, fits_of
from estimator.results.estimate import NO_LABEL, Estimate, Figure, FigureLabel, Figures
from estimator.results.group import SHARES, FigureGroup, FigureKey, in_order
from estimator.results.metric import MetricEstimate
from estimator.results.report import Request
from estimator.results.statistic import STATISTICS
from estimator.statistics.arrays import Counts, Floats
from estimator.tallies import Tally

QUANTILES: Final = (0.05, 0.25, 0.5, 0.75, 0.95)

Ends = tuple[float, float]

FLOATS_APART: Final = 2**40
"""The maximum absolute value of a range's ends, as a multiple of the range's width.

A range beyond this limit, such as from 10**15 to 10**15 + 1, contains too few floats for a
histogram.
"""

W = TypeVar("W", Count, Activity)


class PointOfGrid(OneSymbol[Grid]):
    """Metrics about numbers. A device rounds its number at random to a point of a grid."""

    @property
    def decoder(self) -> Decoder | None:
        """The decoder that estimates the mean answer. None if the grid has only two points."""
        return decoder_of(self.metric.channel)

    @property
    def has_distribution(self) -> bool:
        """Whether a distribution is estimated. This requires at least three grid points."""
        return self.kind.statistic != "mean" and self.decoder is not None

    @property
    def is_whole(self) -> bool:
        """Whether the numbers are whole."""
        return self.kind.is_whole

    @property
    def ends(self) -> tuple[float, float]:
        """The ends of the range."""
        return float(self.kind.low), float(self.kind.high)

    @property
    def adds_up(self) -> bool:
        """True, because numbers can be added."""
        return True

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The estimates that alerts may watch: the mean, the sum, and quantiles if estimated."""
        return (
            {"mean": FigureKey(self.mean_statistic)}
            | ({"sum": FigureKey("sum")} if self.adds_up else {})
            | {f"p{100 * each:.0f}": FigureKey("quantile", each) for each in QUANTILES if self.has_distribution}
        )

    def check(self, tally: Tally) -> None:
        """Refuse a tally that does not fit the channel.

        Also refuse a range that is too narrow for floats to distinguish its numbers.
        """
        super().check(tally)
        check_range(self.kind)

    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the estimates of each tally."""
        means = super().estimates(tallies, request)
        histogram = self.histogram
        if histogram is None:
            yield from means
            return
        counts = [tally.dense(self.metric.channel.symbols) for tally in tallies]
        for estimated, of_tally, fit in zip(means, counts, fits_of(histogram, counts), strict=True):
            yield self._with_histogram(estimated, histogram, of_tally, fit, request)

    @property
    def histogram(self) -> Histogram | None:
        """The bins of the estimated distribution. None if only the mean is estimated."""
        return Histogram.from_channel(self.metric.channel, self.kind) if self.has_distribution else None

    def _with_histogram(
        self, estimated: MetricEstimate, histogram: Histogram, counts: Counts, fit: Fit | None, request: Request
    ) -> MetricEstimate:
        likeliest = mean_of(histogram, fit)
        groups = [_with_likeliest(group, likeliest) if group.about.is_mean else group for group in estimated.groups]
        distribution = distribution_of(
            histogram, counts, fit, self._ranges(request), estimated.unit, simultaneous=request.simultaneous
        )
        clusters = clusters_of_histogram(histogram, counts, fit) if request.clusters and fit else None
        return replace(
            estimated, groups=in_order([*groups, *distribution]), counts=tuple(counts.tolist()), clusters=clusters
        )

    def _ranges(self, request: Request) -> list[tuple[float, float]]:
        return [(start, end) for metric, start, end in request.ranges if metric == self.metric.name]

    def family(self, request: Request) -> int:
        """Return the number of intervals for one tally."""
        histogram = self.histogram
        return 1 if histogram is None else family_of(histogram, len(self._ranges(request)))

    def figures(self, counts: Counts, reports: Counts, family: int = 1) -> Iterator[tuple[FigureGroup, ...]]:
        """Yield the mean of each tally, and the sum if answers can be added."""
        decoder = self.decoder
        if decoder is None:
            of_ends = shares_of((0, 1), self.inverse, counts, reports, family)
            means: list[Estimate] = [high for _, high in of_ends]
        else:
            means = [Estimate(*mean, maximum_likelihood=None) for mean in means_of(decoder, counts, reports, family)]
        for mean, (number,) in zip(means, reports.tolist(), strict=True):
            yield tuple(self.means(self.told(mean), number))

    @property
    def averaged_ends(self) -> tuple[float, float]:
        """The ends of the range or, for a geometric mean, the logarithm of 1 + each end."""
        return STATISTICS[self.mean_statistic].scale.inner_ends(self.ends)

    @property
    def width(self) -> float:
        """The difference between the `averaged_ends`."""
        low, high = self.averaged_ends
        return high - low

    def told(self, mean: Estimate) -> Estimate:
        """Convert a mean on the scale 0..1 to the unit of the answers."""
        return STATISTICS[self.mean_statistic].scale.shown(mean.between(*self.averaged_ends), self.ends)

    def unknown(self) -> tuple[FigureGroup, ...]:
        """Return the whole range as the interval of the mean, for a tally without reports."""
        return tuple(self.means(Estimate(None, None, *self.ends, None), 0))

    @property
    def mean_variance(self) -> float | None:
        """The largest variance of a mean estimated from one report.

        The variance is divided by the squared range.
        """
        decoder = self.decoder
        if decoder is None:
            return self.inverse.squares(self.metric.channel.inputs).worst
        return worst_variance(np.linspace(0.0, 1.0, decoder.squares.size), decoder.squares)

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The smallest and the largest score of a report.

        For a geometric mean, these scores are logarithms.
        """
        decoder, (low, _) = self.decoder, self.averaged_ends
        scores = self.inverse.contrast(self.scale) if decoder is None else decoder.scores
        return low + self.width * scores.min(keepdims=True), low + self.width * scores.max(keepdims=True)

    def worth(self, value: Any) -> float:  # noqa: ANN401 a number
        """Return the number, clipped to the range."""
        return float(self.kind.within(value))

    def pilot(self, tally: Tally) -> Numbers | None:
        """Return the distribution estimated from a tally, with an extrapolated upper tail."""
        histogram = self.histogram
        fit = None if histogram is None else fit_of(histogram, tally.dense(self.metric.channel.symbols))
        if histogram is None or fit is None:
            return None
        return with_exponential_tail(Numbers((histogram.lows + histogram.highs) / 2, fit.smoothed))

    def clips(self, people: Numbers, reports: int) -> tuple[Clip, ...]:
        """Return candidate ranges for the mean, even if the metric's statistic is not the mean."""
        decoder = self.decoder
        if self.kind.statistic != "mean":
            asked = RequestedEpsilon.parse(as_float(self.metric.epsilon_nanos))
            decoder = decoder_of(channel_for(replace_kind(self.kind, statistic="mean"), asked))  # type: ignore[type-var] # numbers are dataclasses
        return () if decoder is None or not reports else clips_of(self.ends, people, decoder, reports)


class PlaceOnScale(PointOfGrid):
    """Metrics with answers on a scale such as 1 to 5. Only the mean is estimated."""

    mean_name = "mean position"

    @property
    def adds_up(self) -> bool:
        """False, because places on a scale cannot be added."""
        return False

    def clips(self, people: Numbers, reports: int) -> tuple[Clip, ...]:  # noqa: ARG002 used for numbers
        """Return no clips, because a scale has few steps."""
        return ()


class NumberOfMagnitudes(PointOfGrid):
    """Numbers that span orders of magnitude, such as file sizes.

    The estimator averages logarithms.
    """

    mean_name = "geometric mean"

    @property
    def adds_up(self) -> bool:
        """False, because a sum of logarithms has no meaning."""
        return False

    def clips(self, people: Numbers, reports: int) -> tuple[Clip, ...]:  # noqa: ARG002 used for numbers
        """Return no clips, because a clip hardly shortens the range of logarithms."""
        return ()

    def worth(self, value: Any) -> float:  # noqa: ANN401 a number
        """Clip the number x to the range, and return log(1 + x)."""
        return math.log1p(super().worth(value))


class CountsWithShares(OneOfLabels[W]):
    """Metrics about counts 0, 1, and so on. The share of each count is estimated."""

    @property
    def positions(self) -> Floats:
        """The counts 0, 1, …, shape (k,)."""
        return np.arange(0.0, self.metric.channel.inputs)

    @property
    def adds_up(self) -> bool:
        """True, because counts can be added."""
        return True

    def worth(self, value: Any) -> float:  # noqa: ANN401 a count
        """Return the count, clipped to the range."""
        return float(self.kind.within(value))


class DaysOfUse(CountsWithShares[Activity]):
    """The shares of devices with exactly n days of use, and with at least n days of use."""

    @property
    def thresholds(self) -> tuple[int, ...]:
        """The thresholds: one day, and a quarter, half and all of the maximum number of days."""
        days = int(self.kind.high)
        return (1, -(-days // 4), -(-days // 2), days)

    @property
    def more_intervals(self) -> int:
        """The number of thresholds.

        The share of devices at or above each threshold has an interval.
        """
        return len(self.thresholds)

    def more(self, estimated: MetricEstimate, counts: Counts, request: Request, family: int) -> MetricEstimate:
        """Add the share of devices at or above each threshold."""
        estimated = super().more(estimated, counts, request, family)
        return replace(estimated, groups=(*estimated.groups, self._at_least(estimated, counts, family)))

    def _at_least(self, estimated: MetricEstimate, counts: Counts, family: int) -> FigureGroup:
        likeliest = estimated.figures("share").maximum_likelihood
        shares = []
        for least in self.thresholds:
            worth = tuple(float(days >= least) for days in self.kind.labels)
            contrast = Contrast.remembered(self.inverse, worth)
            likely = min(1.0, float(likeliest[least:].sum())) if likeliest.size else None
            mean = mean_of_scores(contrast, counts, int(counts.sum()), family)
            shares.append(Figure(*mean, maximum_likelihood=likely, value=least))
        return FigureGroup("share_at_least", Figures.from_rows(shares), "", SHARES)


def check_range(kind: Grid) -> None:
    """Refuse a range that is too narrow for floats to distinguish its numbers.

    Raises:
        UnfitTallyError: if the range is too narrow.
    """
    if (kind.high - kind.low) * FLOATS_APART < max(abs(kind.low), abs(kind.high)):
        raise UnfitTallyError(
            f"its range from {float(kind.low):.17g} to {float(kind.high):.17g} is too narrow for floats; "
            "ask for the distance from the low end instead"
        )


def _with_likeliest(group: FigureGroup, likeliest: float | None) -> FigureGroup:
    (mean,) = group.figures
    return replace(group, figures=Figures.from_rows([replace(mean, maximum_likelihood=likeliest)]))


def distribution_of(  # noqa: PLR0913 all inputs of a distribution
    histogram: Histogram,
    counts: Counts,
    fit: Fit | None,
    ranges: Sequence[Ends] = (),
    unit: str = "",
    *,
    simultaneous: bool = False,
) -> Iterator[FigureGroup]:
    """Yield a number's variance, quantiles, shares of ranges, distribution function and histogram.

    Args:
        histogram: the number's bins, and the probability of each symbol for a value in each bin.
        counts: the count of each symbol, shape (symbols,).
        fit: the histograms fitted to the tally, or None if the tally has no reports.
        ranges: the ends of the requested ranges, in the number's unit.
        unit: the unit of the number.
        simultaneous: whether all 95% intervals must be valid simultaneously.
    """
    ends = float(histogram.lows[0]), float(histogram.highs[-1])
    if fit is None:
        figures = _unknown(histogram, ends, ranges)
    else:
        tally = TallyRanges.from_counts(histogram, counts, fit.smoothed)
        figures = _known(tally, fit, ranges, family_of(histogram, len(ranges)) if simultaneous else 1)
    squared = f"{unit}\N{SUPERSCRIPT TWO}" if unit else ""
    yield FigureGroup("variance", figures["variance"], squared, (0.0, (ends[1] - ends[0]) ** 2 / 4))
    yield FigureGroup("quantile", figures["quantile"], unit, ends)
    if ranges:
        yield FigureGroup("range", figures["range"], "", SHARES)
    yield FigureGroup("at_most", figures["at_most"], "", SHARES)
    yield FigureGroup("bin", figures["bin"], "", SHARES)


def _known(tally: TallyRanges, fit: Fit, ranges: Sequence[Ends], family: int) -> dict[str, Figures]:
    histogram = tally.ranges.histogram
    variance = Figure.within(variance_interval(tally, family), float(histogram.variance(fit.smoothed)))
    return {
        "variance": Figures.from_rows([variance]),
        "quantile": _quantiles(tally, fit, family),
        "range": Figures.from_rows(_ranges(tally, fit, ranges, family)),
        "at_most": _band(tally, fit, family),
        "bin": _bins(tally, fit, family),
    }


def _unknown(histogram: Histogram, ends: Ends, ranges: Sequence[Ends]) -> dict[str, Figures]:
    points = histogram.points
    return {
        "variance": Figures.unknown([NO_LABEL], 0.0, (ends[1] - ends[0]) ** 2 / 4),
        "quantile": Figures.unknown(QUANTILES, *ends),
        "range": Figures.unknown(tuple(ranges)),
        "at_most": Figures.unknown(points[band_places(points.size)].tolist()),
        "bin": Figures.unknown(_pairs(histogram)),
    }


def family_of(histogram: Histogram, ranges: int) -> int:
    """Return the number of confidence intervals for a distribution.

    The mean, the variance and the distribution function have one interval each. Each quantile, bin
    and requested range also has an interval.
    """
    return 3 + len(QUANTILES) + histogram.bins + ranges


def mean_of(histogram: Histogram, fit: Fit | None) -> float | None:
    """Return the mean of the maximum-likelihood histogram. Returns None if ``fit`` is None."""
    return None if fit is None else float(histogram.mean(fit.likeliest))


def _within(labels: Sequence[FigureLabel], estimates: Floats, ends: tuple[Floats, Floats], **more: Floats) -> Figures:
    lows, highs = ends
    return Figures(labels, lows, highs, np.clip(estimates, lows, highs), **more)


def _quantiles(tally: TallyRanges, fit: Fit, family: int) -> Figures:
    estimates = tally.ranges.histogram.quantiles(fit.smoothed, QUANTILES)
    lows, highs = np.array(quantile_intervals(tally, QUANTILES, family)).T
    return _within(QUANTILES, estimates, (lows, highs))


def _band(tally: TallyRanges, fit: Fit, family: int) -> Figures:
    points = tally.ranges.points
    places = band_places(points.size)
    estimates = tally.ranges.histogram.at_most(fit.smoothed, points[places])
    return _within(points[places].tolist(), estimates, band(tally, places, family))


def _bins(tally: TallyRanges, fit: Fit, family: int) -> Figures:
    histogram = tally.ranges.histogram
    firsts = np.arange(histogram.bins)
    ends = shares_of_ranges(tally, firsts, firsts + (not histogram.is_of_points), family)
    return _within(_pairs(histogram), fit.smoothed, ends, maximum_likelihood=fit.likeliest)


def _pairs(histogram: Histogram) -> list[Ends]:
    return list(zip(histogram.lows.tolist(), histogram.highs.tolist(), strict=True))


def _ranges(tally: TallyRanges, fit: Fit, ranges: Sequence[Ends], family: int) -> list[Figure]:
    """Return the share of answers within each requested range.

    The ends of a requested range may lie between grid points, but limits are computed only for
    ranges with both ends at grid points. The lower limit is computed for the largest such range
    within the requested range. The upper limit is computed for the smallest such range that
    contains the requested range.
    """
    histogram, points = tally.ranges.histogram, tally.ranges.points
    figures = []
    for start, end in ranges:
        within = int(np.searchsorted(points, start)), int(np.searchsorted(points, end, side="right")) - 1
        around = within
        if not histogram.is_of_points:
            first = min(int(np.searchsorted(points, start, side="right")) - 1, points.size - 2)
            around = first, max(first + 1, int(np.searchsorted(points, end)))
        _, high = _share(tally, around, family)
        low, _ = _share(tally, within, family)
        estimate = float(histogram.share_between(fit.smoothed, start, end))
        figures.append(Figure.within((min(low, high), high), estimate, value=(start, end)))
    return figures


def _share(tally: TallyRanges, ends: tuple[int, int], family: int) -> Ends:
    first, last = max(0, ends[0]), min(tally.ranges.points.size - 1, ends[1])
    if last < first + (not tally.ranges.histogram.is_of_points):
        return 0.0, 0.0
    low, high = shares_of_ranges(tally, np.array([first]), np.array([last]), family)
    return float(low[0]), float(high[0])
