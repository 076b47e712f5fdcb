"""Shares and means, for metrics with one channel input for each answer.

Arrays have one row for each tally, because numpy processes a hundred rows about as fast as one row.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any, Final, TypeVar

import numpy as np
from msgspec.structs import replace

from client_sdk.protocol.kinds.kind import Kind, Label
from client_sdk.protocol.kinds.ordinal import Ordinal
from client_sdk.protocol.kinds.set import Subset
from estimator.analyses.analysis import Analysis, Draws, InputLaw
from estimator.analyses.clusters import clusters_of_values
from estimator.analyses.means import Contrast, means_of, worst_variance
from estimator.analyses.poisoning import fakes_of
from estimator.analyses.ratios import MOST_VALUES, Ratios, Sample
from estimator.analyses.shrinkage import FEWEST, shrunken_shares
from estimator.decoders.decoder import Inverse, Squares
from estimator.decoders.inversions import inverse_of, sampler_of
from estimator.decoders.pair_geometry import PairShares
from estimator.decoders.sampling import Sampler
from estimator.likelihood.shares import maximum_likelihood
from estimator.results.estimate import Estimate, Figures
from estimator.results.group import SHARES, FigureGroup, FigureKey, in_order
from estimator.results.metric import MetricEstimate
from estimator.results.report import Request
from estimator.statistics.arrays import Counts, Floats
from estimator.statistics.confidence import EXACT_BELOW, z_of
from estimator.tallies import Tally

AT_ONCE: Final = 2**14
"""The maximum number of symbol counts in a batch of several tallies.

Larger batches are not faster. For larger matrices, the linear algebra library (BLAS) starts
threads that wait for each other on busy processors.
"""

K = TypeVar("K", bound=Kind)


class OneSymbol(Analysis[K]):
    """The base class for analyses of all metrics except texts, vectors and models."""

    def estimates(self, tallies: Sequence[Tally], request: Request) -> Iterator[MetricEstimate]:
        """Yield the estimates of each tally."""
        symbols, family = self.metric.channel.symbols, self.family(request) if request.simultaneous else 1
        at_once = max(1, AT_ONCE // symbols)
        for first in range(0, len(tallies), at_once):
            batch = tallies[first : first + at_once]
            counts = np.array([tally.dense(symbols) for tally in batch])
            reports = np.array([[tally.reports] for tally in batch])
            has_reports = reports[:, 0] > 0
            known = self.figures(counts[has_reports], reports[has_reports], family)
            for tally, of_tally in zip(batch, counts, strict=True):
                groups = next(known) if tally.reports else self.unknown()
                plain = self._estimated(tally, groups=groups)
                yield self._with_more(plain, of_tally, request, family)

    @abstractmethod
    def figures(self, counts: Counts, reports: Counts, family: int = 1) -> Iterator[tuple[FigureGroup, ...]]:
        """Yield the figures of each tally: shares, a mean, or both, depending on the metric.

        Args:
            counts: the count of each symbol, shape (tallies, m).
            reports: the number of reports in each tally, at least 1, shape (tallies, 1).
            family: the number of simultaneous 95% intervals in each tally.
        """

    @abstractmethod
    def unknown(self) -> tuple[FigureGroup, ...]:
        """Return the figures for a tally without reports.

        Each interval contains all possible values.
        """

    @abstractmethod
    def family(self, request: Request) -> int:
        """Return the number of confidence intervals for one tally."""

    def more(self, estimated: MetricEstimate, counts: Counts, request: Request, family: int) -> MetricEstimate:  # noqa: ARG002
        """Add figures that need the counts of the symbols."""
        return estimated

    def _with_more(self, estimated: MetricEstimate, counts: Counts, request: Request, family: int) -> MetricEstimate:
        if estimated.reports and request.fakes is not None:
            compared = estimated.compared
            extremes = self.extremes_beside(np.concatenate([group.figures.unbiased for group in compared]))
            fakes = fakes_of(self.metric.channel, extremes, counts, compared, request.fakes)
            estimated = replace(estimated, fakes=fakes)
        estimated = self.more(estimated, counts, request, family)
        return replace(estimated, groups=in_order(estimated.groups))

    def extremes_beside(self, unbiased: Floats) -> tuple[Floats, Floats]:  # noqa: ARG002 used for sets
        """Return the smallest and the largest score of a report, given the unbiased estimates.

        These scores limit the effect of fabricated reports.
        """
        return self.extremes

    def means(self, mean: Estimate, reports: int) -> Iterator[FigureGroup]:
        """Yield the mean and, if answers can be added, their sum: the mean times ``reports``."""
        yield FigureGroup(self.mean_statistic, Figures.from_rows([mean.labeled()]), self.metric.unit, self.ends)
        if self.adds_up and reports:
            yield FigureGroup("sum", Figures.from_rows([mean.times(reports).labeled()]), self.metric.unit)

    @property
    def adds_up(self) -> bool:
        """Whether answers can be added. Numbers and counts can; steps of a scale cannot."""
        return False

    @property
    def inverse(self) -> Inverse:
        """The inverse of the channel."""
        return inverse_of(self.metric.channel)

    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies. Each device encodes its answer independently."""
        draw, round_each = sampler_of(self.metric.channel), rounding(laws, self.metric.channel.inputs)
        return lambda counts, _, generator: draw(round_each(counts, generator), generator)


class OneOfLabels(OneSymbol[K]):
    """Metrics with one channel input for each answer, such as booleans and categories."""

    @property
    def labels(self) -> Sequence[Label]:
        """The answers, in order. The last answer may be "no answer"."""
        return self.metric.labels

    @property
    def positions(self) -> Floats | None:
        """The number that each input contributes to the mean. None if there is no mean."""
        return None

    @property
    def points(self) -> Floats | None:
        """The coordinates of the answers for clustering, shape (k, d).

        None if the answers have no coordinates.
        """
        positions = self.positions
        return positions[:, np.newaxis] if positions is not None and len(self.labels) == len(positions) else None

    @property
    def scale(self) -> Floats:
        """The `positions`, scaled to the range from 0 to 1."""
        positions = self.positions
        assert positions is not None  # noqa: S101 used only if there is a mean
        least, greatest = float(positions.min()), float(positions.max())
        scale: Floats = (positions - least) / (greatest - least)
        return scale

    @property
    def ends(self) -> tuple[float, float] | None:
        """The smallest and the largest position."""
        positions = self.positions
        return None if positions is None else (float(positions.min()), float(positions.max()))

    @property
    def alerts(self) -> Mapping[str, FigureKey]:
        """The estimates that alerts may watch: the shares, the mean, and the sum."""
        return (
            ({} if self.ends is None else {"mean": FigureKey(self.mean_statistic)})
            | ({"sum": FigureKey("sum")} if self.adds_up else {})
            | {"share[VALUE]": FigureKey("share")}
        )

    def figures(self, counts: Counts, reports: Counts, family: int = 1) -> Iterator[tuple[FigureGroup, ...]]:
        """Yield the shares of each tally, and the mean if answers are numeric."""
        of_tallies = list(shares_of(self.labels, self.inverse, counts, reports, family))
        means = self._means(of_tallies, counts, reports, family) if self.positions is not None else [None] * len(counts)
        for shares, mean, (number,) in zip(of_tallies, means, reports.tolist(), strict=True):
            of_mean = () if mean is None else self.means(mean, number)
            yield FigureGroup("share", self.of_answers(shares), "", SHARES), *of_mean

    def unknown(self) -> tuple[FigureGroup, ...]:
        """Return the figures for a tally without reports.

        Each interval contains all possible values.
        """
        shares = FigureGroup("share", Figures.unknown(self.labels), "", SHARES)
        return (shares,) if self.ends is None else (shares, *self.means(Estimate(None, None, *self.ends, None), 0))

    def of_answers(self, shares: Figures) -> Figures:
        """Convert the shares of inputs to those of answers. For these metrics, both are equal."""
        return shares

    def _means(self, shares: Sequence[Figures], counts: Counts, reports: Counts, family: int) -> Iterator[Estimate]:
        (least, greatest), weights = self.ends or SHARES, self.scale
        contrast = self.contrast_by(self.inverse)
        for mean, of_tally in zip(means_of(contrast, counts, reports, family), shares, strict=True):
            likeliest = float(weights @ of_tally.maximum_likelihood)
            yield Estimate(*mean, maximum_likelihood=likeliest).between(least, greatest)

    def family(self, request: Request) -> int:  # noqa: ARG002 used for numbers
        """Return the number of intervals for one tally's shares, mean, and derived statistics."""
        size = self.metric.channel.inputs
        shares = 1 if size == 2 else size  # noqa: PLR2004 the second share is 1 minus the first
        return shares + (self.positions is not None) + (size - 1 if self.metric.has_no_answer else self.more_intervals)

    @property
    def more_intervals(self) -> int:
        """The number of a tally's intervals that belong neither to a share nor to the mean."""
        return 0

    def more(self, estimated: MetricEstimate, counts: Counts, request: Request, family: int) -> MetricEstimate:
        """Add the requested clusters and covariance, and the statistics derived from the shares."""
        shares = estimated.estimates
        if not estimated.reports or shares is None:
            return estimated
        if request.clusters:
            clusters = clusters_of_values(self.points, self.labels, self.inverse, counts, shares.maximum_likelihood)
            estimated = replace(estimated, clusters=clusters)
        needs_covariance = request.covariance or self.metric.has_no_answer or self.is_joint(request)
        if self.metric.channel.inputs > MOST_VALUES or not needs_covariance:
            return estimated
        sample = Sample.from_counts(self.inverse, counts)
        covariance = self.covariance(sample, shares)
        if self.metric.has_no_answer:
            answered = self._answered(shares, covariance, sample, family)
            estimated = replace(estimated, groups=(*estimated.groups, answered))
        elif self.is_joint(request):
            estimated = self.with_joint(estimated, covariance, sample, family)
        if request.covariance:
            estimated = replace(estimated, covariance=tuple(map(tuple, covariance.tolist())))
        return estimated

    def covariance(self, sample: Sample, shares: Figures) -> Floats:  # noqa: ARG002 used for sets
        """Return the covariance matrix of the estimated shares of inputs, shape (k, k)."""
        return sample.covariance(self.inverse)

    def is_joint(self, request: Request) -> bool:  # noqa: ARG002 used for pairs
        """Return whether the request includes shares within groups, which only pairs have."""
        return False

    def with_joint(self, estimated: MetricEstimate, covariance: Floats, sample: Sample, family: int) -> MetricEstimate:  # noqa: ARG002
        """Add the shares within groups, and the differences between these shares."""
        return estimated

    def _answered(self, shares: Figures, covariance: Floats, sample: Sample, family: int) -> FigureGroup:
        """Return each answer's share among the devices that answered.

        The last input is "no answer".
        """
        answers = len(shares) - 1
        ratios = Ratios.from_shares(shares.unbiased[:answers], covariance[:answers, :answers], 1, answers)
        is_enough = sample.reports >= EXACT_BELOW
        ratios, z = (ratios.widened(sample), z_of(family)) if is_enough else (ratios, math.inf)
        figures = (ratios.estimate(0, place, z).labeled(label) for place, label in enumerate(self.kind.labels))
        return FigureGroup("share_of_answered", Figures.from_rows(figures), "", SHARES)

    @property
    def squares(self) -> Squares | None:
        """The mean squared score of a report, for each share."""
        return self.inverse.squares(self.metric.channel.inputs)

    @property
    def mean_variance(self) -> float | None:
        """The largest variance of a mean estimated from one report.

        The variance is divided by the squared range.
        """
        if self.positions is None:
            return None
        places = self.scale
        return worst_variance(places, self.inverse.expectations(self.inverse.contrast(places) ** 2))

    @property
    def extremes(self) -> tuple[Floats, Floats]:
        """The smallest and the largest score of a report, for each share and for the mean."""
        inputs = self.metric.channel.inputs
        ends = [
            np.broadcast_to(self.factor * end, inputs)[: len(self.metric.labels)] for end in self.inverse.extremes()
        ]
        if self.ends is None:
            return ends[0], ends[1]
        lowest, highest = self.ends
        scores = lowest + (highest - lowest) * self.contrast_by(self.inverse).scores
        return np.append(ends[0], scores.min()), np.append(ends[1], scores.max())


class StepOfScale(OneOfLabels[Ordinal]):
    """Answers on a scale with steps 1, 2, and so on.

    There is no mean if devices may report "no answer".
    """

    mean_name = "mean position"

    @property
    def positions(self) -> Floats | None:
        """The steps 1, 2, and so on. None if devices may report "no answer"."""
        return None if self.metric.has_no_answer else np.arange(1.0, self.metric.channel.inputs + 1)

    def worth(self, value: Any) -> float:  # noqa: ANN401 a step
        """Return the number of a step, counted from 1."""
        return float(self.kind.labels.index(value) + 1)


class MembersOfSet(OneOfLabels[Subset]):
    """Metrics about sets. Each device reports one random element of its set.

    The device first pads its set with dummies to the maximum size. With a maximum of 3, a set with
    one member gets two dummies. The device then draws the member with probability 1/3.
    """

    mean_name = "mean size"

    @property
    def positions(self) -> Floats | None:
        """The number that each input contributes to the mean size.

        A value contributes the maximum size, and a dummy contributes 0. A device draws its input at
        random, so its expected contribution is the size of its set.
        """
        values = len(self.kind.values)
        return np.append(np.full(values, self.factor), np.zeros(self.metric.channel.inputs - values))

    def law(self, answer: object) -> Mapping[int, Fraction]:
        """Return the probability of drawing each member and dummy."""
        (padded,) = super().law(answer)
        return {each: Fraction(places, self.kind.max_items) for each, places in Counter(padded).items()}

    def family(self, request: Request) -> int:  # noqa: ARG002 used for numbers
        """Return the number of intervals: one for each share, and one for the mean size."""
        return len(self.kind.values) + 1

    @property
    def factor(self) -> float:
        """The number of elements in the padded set."""
        return float(self.kind.max_items)

    def of_answers(self, shares: Figures) -> Figures:
        """Convert the share of reports about each value to the share of sets that contain it."""
        return shares.of_members(self.kind.labels, round(self.factor))

    @property
    def points(self) -> None:
        """None, because members of sets have no coordinates."""
        return

    def counted(self, value: Any) -> Sequence[Any]:  # noqa: ANN401 a set
        """Return the members of the set."""
        members: Sequence[Any] = value
        return members

    def worth(self, value: Any) -> float:  # noqa: ANN401 a set
        """Return the size of the set."""
        return float(len(value))


class MembersInPairs(MembersOfSet):
    """Metrics about sets with the mechanism `pair-geometry`.

    A device pads its set with dummies and draws two elements. The device then reports a block: a
    set of elements that probably contains one or both drawn elements.
    """

    def contrast_by(self, inverse: Inverse) -> Contrast:
        """Return the scores that estimate the mean size of sets.

        The mean size is the maximum size minus the mean number of dummies in a padded set. The
        elements include fewer dummies than values, so the estimated number of dummies has less
        noise than the estimated number of members.
        """
        assert isinstance(inverse, PairShares)  # noqa: S101 the row of the mechanism
        scores: Floats = 1 - inverse.contrast(1 - self.scale)
        return Contrast.within(scores, inverse.lightest, inverse.ratio)

    @property
    def mean_variance(self) -> float:
        """A bound on the variance of a mean estimated from one report.

        The bound is divided by the squared maximum size.
        """
        contrast, inverse = self.contrast_by(self.inverse), self.inverse
        assert isinstance(inverse, PairShares)  # noqa: S101 the row of the mechanism
        return contrast.floor * inverse.ratio

    def covariance(self, sample: Sample, shares: Figures) -> Floats:  # noqa: ARG002 used for other labels
        """Return the covariance matrix of the shares, from the observed scores of the reports.

        ``shares`` is not used, because shares do not determine the probability of each block.
        """
        covariance: Floats = np.cov(sample.scores, fweights=sample.counts, bias=True) / sample.reports
        return covariance

    def law(self, answer: object) -> Mapping[int, Fraction]:
        """Return the pairs of elements in the padded set, with equal probabilities.

        With K possible elements, the pair of elements a and b is the input a * K + b.
        """
        (padded,) = Analysis.law(self, answer)
        pairs = [first * self.metric.channel.inputs + second for first, second in combinations(padded, 2)]
        return {pair: Fraction(1, len(pairs)) for pair in pairs}

    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies. Each device draws two elements of its set."""
        draw, round_each = sampler_of(self.metric.channel), rounding(laws, self.metric.channel.inputs**2)
        return lambda counts, _, generator: draw(round_each(counts, generator), generator)


class MembersAsked(MembersOfSet):
    """Metrics about sets. Each device draws one value, and reports whether the value is in its set.

    Each value's share is estimated only from the reports about this value. The estimates for
    different values are therefore independent.
    """

    @property
    def factor(self) -> float:
        """1, because the share of "yes" for a value is the share of sets with this value."""
        return 1.0

    @property
    def ends(self) -> tuple[float, float]:
        """The smallest and the largest size of a set."""
        return 0.0, float(self.kind.max_items)

    @property
    def scale(self) -> Floats:
        """The weight of each value's share in the mean size.

        The mean size is expressed as a fraction of the maximum size.
        """
        return np.full(len(self.kind.values), 1 / self.kind.max_items)

    @property
    def mean_variance(self) -> float:
        """The largest variance of a mean estimated from one report.

        The variance is divided by the squared maximum size.
        """
        low, high = (float(end[0]) for end in self.inverse.extremes())
        return (high - low) ** 2 / 4 / self.kind.max_items**2

    def extremes_beside(self, unbiased: Floats) -> tuple[Floats, Floats]:
        """Return the extreme scores, assuming that all fabricated reports are about one value."""
        values = len(self.kind.values)
        beside = np.where(np.arange(len(unbiased)) < values, (values - 1) * unbiased, 0.0)
        least, most = self.extremes
        return least - beside, most - beside

    def covariance(self, sample: Sample, shares: Figures) -> Floats:  # noqa: ARG002 used for other labels
        """Return the covariance matrix, which is diagonal because the estimates are independent."""
        return np.diag(shares.standard_errors**2)

    def law(self, answer: object) -> Mapping[int, Fraction]:
        """Return, for each value, the input that states whether the set contains this value."""
        (said,) = Analysis.law(self, answer)
        return {2 * value + yes: Fraction(1, len(said)) for value, yes in enumerate(said)}

    def draws(self, laws: Sequence[InputLaw]) -> Draws:
        """Return a function that draws tallies. Each device draws a value to report about."""
        draw, round_each = sampler_of(self.metric.channel), rounding(laws, self.metric.channel.symbols)
        return lambda counts, _, generator: draw(round_each(counts, generator), generator)


def rounding(laws: Sequence[InputLaw], inputs: int) -> Sampler:
    """Return a function that encodes devices' answers as inputs, at random.

    The function converts the number of devices with each answer to the number of devices with each
    input.
    ``laws`` contains, for each distinct answer, its possible inputs with their probabilities.
    """
    longest = max(map(len, laws), default=0)
    # numpy assigns the rounding error of a row's sum to its last input, which must therefore be
    # possible, so the padding comes first
    padded = np.array([((0, 0.0),) * (longest - len(law)) + law for law in laws], dtype=np.float64)
    symbols, chances = np.moveaxis(padded.reshape(len(laws), longest, 2), -1, 0)

    def drawn(counts: Counts, generator: np.random.Generator) -> Counts:
        rounded = np.zeros(inputs, dtype=np.int64)
        if laws:
            np.add.at(rounded, symbols.astype(np.int64), generator.multinomial(counts, chances))
        return rounded

    return drawn


def shares_of(
    labels: Sequence[Label], inverse: Inverse, counts: Counts, reports: Counts, family: int = 1
) -> Iterator[Figures]:
    """Yield the estimated shares of the inputs, for each tally.

    ``labels`` are the labels of the inputs, and ``inverse`` is the inverse of the channel. The
    other arguments are as for `OneSymbol.figures`.
    """
    lows, highs = inverse.intervals(counts, reports, family)
    unbiased, errors = inverse.shares(counts, reports), inverse.standard_errors(counts, reports)
    likeliest = maximum_likelihood(inverse, counts)
    shrunken = shrunken_shares(unbiased, errors) if unbiased.shape[-1] >= FEWEST else np.zeros((len(counts), 0))
    for columns in zip(lows, highs, unbiased, errors, likeliest, shrunken, strict=True):
        yield Figures(labels, *columns)
