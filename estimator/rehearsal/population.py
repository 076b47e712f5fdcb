"""The population of a rehearsal: the number of devices with each answer.

A *figure* is a number such as a share, a mean or a quantile. The population determines the true
figures. A rehearsal shows the true figures next to the estimates, and measures how often intervals
contain the true figures.

Answers are parsed from text. A device encodes an answer as an input of the channel, sometimes at
random. For example, the device may round 2.25 to 2 or 3. A `TrueAnswer` therefore includes the
probability of each input.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.sentences import shipped
from estimator.analyses.analysis import Draws
from estimator.analyses.clips import Clip, Numbers
from estimator.analyses.metric import analysis_of
from estimator.results.estimate import Estimate, Figure, Record, says
from estimator.results.group import FigureKey
from estimator.results.metric import MetricEstimate
from estimator.statistics.arrays import Counts, Floats

Input = int | tuple[int, ...]
"""An input of a channel, which is an integer or an encoded vector."""

Value = bool | str | int | float | Decimal | Fraction | tuple["Value", ...] | None
"""An answer. The members of a set are in the domain's order, so equal sets are equal tuples."""

ROUNDING: Final = 1e-9
"""The allowed rounding error of a cumulative share that is compared with a quantile's level."""

Truths = Mapping[FigureKey, float]

WHOLE_BAND: Final = "band"
"""The key, in the result of `held`, for all points of a distribution function together."""

BAND: Final = "at_most"
"""The statistic whose figures are the points of a distribution function."""


@dataclass(frozen=True, slots=True)
class TrueAnswer:
    """An answer, the channel inputs that may encode the answer, and each input's probability.

    The encoding is random if the device rounds a number or selects a member of a set. A text is
    encoded as an integer.
    """

    value: Value
    law: tuple[tuple[Input, float], ...]


def parts(value: Value) -> tuple[Value, ...]:
    """Return the members of a set, the answers of a pair, or the numbers of a vector."""
    return value if isinstance(value, tuple) else (value,)


def as_float(value: Value) -> float:
    """Return a number as a float, and NaN for any other answer."""
    return float(value) if isinstance(value, int | Decimal | Fraction) else math.nan


def read_answer(metric: Metric, cell: str | tuple[str, ...]) -> TrueAnswer:
    """Parse an answer from one cell, or from several cells that each contain a part of the answer.

    Raise `ValueError` if the cells do not contain an answer. The message describes possible
    answers, but never contains the content of a cell.
    """
    kind = metric.kind
    try:
        return encode(metric, kind.parse(cell) if isinstance(cell, str) else kind.parse_columns(cell))
    except DomainError:
        counted = kind.counted(shipped())
        beyond = f"; numbers beyond that are {counted}" if counted else ""
        raise ValueError(f"must be {kind.expected_in_cell}{beyond}") from None


def encode(metric: Metric, value: Any) -> TrueAnswer:  # noqa: ANN401 an answer of any kind
    """Return an answer with the probabilities of its possible inputs.

    Raise `DomainError` if the value is not an answer to the metric.
    """
    kind, inputs = metric.kind, metric.channel.inputs
    if value is None and metric.has_no_answer:
        return TrueAnswer(None, ((inputs - 1, 1.0),))
    law = analysis_of(metric).law(value)
    return TrueAnswer(cast("Value", kind.truth(value)), tuple((each, float(chance)) for each, chance in law.items()))


def distinct(answers: Iterable[tuple[TrueAnswer, int]]) -> dict[TrueAnswer, int]:
    """Add up the numbers of devices with equal answers. For example, 1 and 1.0 are equal."""
    counts: dict[TrueAnswer, int] = {}
    for answer, count in answers:
        counts[answer] = counts.get(answer, 0) + count
    return counts


@dataclass(frozen=True, slots=True, eq=False)
class WeightedNumbers:
    """Numbers in ascending order, each with the number or share of devices as its weight."""

    values: Floats
    weights: Floats | Counts
    total: float

    @classmethod
    def from_values(cls, values: Sequence[float], weights: Floats | Counts) -> WeightedNumbers:
        """Sort numbers together with their weights. The sum of the weights must be positive."""
        rising = np.argsort(values)
        return cls(np.array(values)[rising], weights[rising], math.fsum(weights.tolist()))

    @property
    def variance(self) -> float:
        """The weighted variance of the numbers, in squared units."""
        mean = math.fsum((self.weights * self.values).tolist()) / self.total
        return math.fsum((self.weights * (self.values - mean) ** 2).tolist()) / self.total

    def quantiles(self, probabilities: Sequence[float]) -> list[float]:
        """Return the quantile at each level.

        The quantile at level p is the smallest number whose cumulative share is at least p.
        """
        reached = np.searchsorted(np.cumsum(self.weights) / self.total, np.array(probabilities) - ROUNDING)
        quantiles: list[float] = self.values[np.minimum(reached, self.values.size - 1)].tolist()
        return quantiles

    def at_most(self, places: Sequence[float]) -> list[float]:
        """Return, for each x in ``places``, the share of devices with a number of at most x."""
        return [self._share(self.values <= place) for place in places]

    def bins(self, starts: Sequence[float]) -> list[float]:
        """Return the share of devices with a number in each bin.

        A bin includes its start and ends just before the next bin. The last bin has no end.
        """
        places = np.searchsorted(np.array(starts), self.values, side="right") - 1
        return [self._share(places == place) for place in range(len(starts))]

    def ranges(self, ends: Sequence[tuple[float, float]]) -> list[float]:
        """Return the share of devices with a number in each range. Ranges include both ends."""
        return [self._share((start <= self.values) & (self.values <= end)) for start, end in ends]

    def _share(self, is_chosen: NDArray[np.bool_]) -> float:
        """Return the share of devices whose number is chosen.

        The result is exactly 1 if all numbers are chosen.
        """
        return math.fsum(self.weights[is_chosen].tolist()) / self.total


@dataclass(frozen=True, slots=True, eq=False)
class Population:
    """The devices that answer one metric.

    Attributes:
        shares: the share of each answer, shape (len(answers),). The sum is 1.
        devices: the number of devices that record an answer.
        at_hand: the given number of devices with each answer, shape (len(answers),). None if
            answers are drawn at random from ``shares``.
        is_known: whether the user provided answers or their shares. Otherwise, all answers are
            equally likely.

    """

    metric: Metric
    answers: tuple[TrueAnswer, ...]
    shares: Floats
    devices: int
    at_hand: Counts | None = None
    is_known: bool = True

    @classmethod
    def counted(cls, metric: Metric, counts: dict[TrueAnswer, int]) -> Population:
        """Return a population from the number of devices with each answer."""
        at_hand = np.array(list(counts.values()), dtype=np.int64)
        devices = int(at_hand.sum())
        return cls(metric, tuple(counts), at_hand / max(devices, 1), devices, at_hand)

    def draw(self, generator: np.random.Generator) -> Counts:
        """Draw the devices, and return the number of devices with each answer."""
        return generator.multinomial(self.devices, self.shares) if self.answers else np.zeros(0, dtype=np.int64)

    def draws(self) -> Draws:
        """Return a function that draws a tally from the number of devices with each answer."""
        return analysis_of(self.metric).draws([answer.law for answer in self.answers])

    def coordinates(self, weights: Floats | Counts) -> Floats:
        """Return the mean of each coordinate of the answers.

        Vectors that a device would scale down are used at their full length.

        ``weights`` are the weights of the answers, shape (len(answers),).
        """
        vectors = np.array([answer.value for answer in self.answers], dtype=np.float64)
        mean: Floats = weights @ vectors / weights.sum()
        return mean

    def shares_of(self, weights: Floats | Counts) -> dict[Value, float]:
        """Return the share of devices with each value.

        For sets, the values are the members of the sets. For pairs of a group and a number, the
        values are the groups. ``weights`` are the weights of the answers, shape (len(answers),).
        """
        total, shares, counted = math.fsum(weights.tolist()), dict[Value, float](), analysis_of(self.metric).counted
        for answer, weight in zip(self.answers, weights.tolist(), strict=True):
            for value in counted(answer.value):
                shares[value] = shares.get(value, 0.0) + weight / total
        return shares

    def mean(self, weights: Floats | Counts) -> float:
        """Return the mean of the answers.

        An answer on a scale counts as its position on the scale, and a set as its size.
        """
        total, worth = math.fsum(weights.tolist()), analysis_of(self.metric).worth
        pairs = zip(self.answers, weights.tolist(), strict=True)
        return math.fsum(worth(answer.value) * (weight / total) for answer, weight in pairs)

    def group_means(self, weights: Floats | Counts, groups: Sequence[Label]) -> list[float]:
        """Return the mean of each group's numbers. The mean is NaN if a group has no devices.

        Each answer is a pair of a group and a number. ``weights`` are the weights of the answers,
        shape (len(answers),).
        """
        of_groups: dict[Value, list[tuple[float, float]]] = {}
        worth = analysis_of(self.metric).worth
        for answer, weight in zip(self.answers, weights.tolist(), strict=True):
            group, _ = parts(answer.value)
            of_groups.setdefault(group, []).append((worth(answer.value), weight))
        return [_mean(of_groups.get(label, ())) for label in groups]

    def numbers(self, weights: Floats | Counts) -> WeightedNumbers:
        """Return the answers as clipped numbers with their weights, shape (len(answers),)."""
        worth = analysis_of(self.metric).worth
        return WeightedNumbers.from_values([worth(answer.value) for answer in self.answers], weights)

    @property
    def unclipped(self) -> Numbers | None:
        """The answers before clipping. None if answers are unknown or are not numbers."""
        values = [as_float(answer.value) for answer in self.answers if self.is_known]
        if not values or any(map(math.isnan, values)):
            return None
        numbers = WeightedNumbers.from_values(values, self.shares)
        return Numbers(numbers.values, numbers.weights / numbers.total)

    @property
    def clips(self) -> tuple[Clip, ...]:
        """Clipping ranges to compare, including the range whose mean has the smallest error.

        Empty if no range gives a clearly smaller error than the present range.
        """
        people = self.unclipped if self.metric.kind.statistic == "mean" else None
        return () if people is None else analysis_of(self.metric).clips(people, self.devices)


def _mean(numbers: Sequence[tuple[float, float]]) -> float:
    total = math.fsum(weight for _, weight in numbers)
    return math.fsum(number * weight for number, weight in numbers) / total if total else math.nan


_Truth = Callable[[Population, Floats | Counts, Sequence[Any]], Sequence[float]]
"""A function that takes a population, the weights of its answers, and the labels of figures, and
returns the true figures.
"""


def truths_of(population: Population, weights: Floats | Counts, estimated: MetricEstimate) -> dict[FigureKey, float]:
    """Return the true values of the figures. Figures without a known true value are left out.

    ``weights`` are the numbers or shares of devices with each answer.
    """
    known = (
        (group.keys, TRUTHS[group.statistic](population, weights, group.figures.labels))
        for group in estimated.groups
        if group.statistic in TRUTHS
    )
    every = ((key, truth) for keys, truths in known for key, truth in zip(keys, truths, strict=True))
    return {key: truth for key, truth in every if not math.isnan(truth)}


def _shares(population: Population, weights: Floats | Counts, labels: Sequence[Any]) -> list[float]:
    shares = population.shares_of(weights)
    return [shares.get(label, 0.0) for label in labels]


def _at_least(population: Population, weights: Floats | Counts, days: Sequence[int]) -> list[float]:
    shares = population.shares_of(weights)
    every = [(value, share) for value, share in shares.items() if isinstance(value, int)]
    return [math.fsum(share for value, share in every if value >= least) for least in days]


TRUTHS: Final[dict[str, _Truth]] = {
    "share": _shares,
    "share_at_least": _at_least,
    "share_above": lambda population, weights, thresholds: population.numbers(weights).ranges(
        [(threshold, math.inf) for threshold in thresholds]
    ),
    "found_text": _shares,
    "coordinate": lambda population, weights, _: population.coordinates(weights).tolist(),
    "mean": lambda population, weights, _: [population.mean(weights)],
    "geometric_mean": lambda population, weights, _: [math.expm1(population.mean(weights))],
    "mean_position": lambda population, weights, _: [population.mean(weights)],
    "mean_size": lambda population, weights, _: [population.mean(weights)],
    "variance": lambda population, weights, _: [population.numbers(weights).variance],
    "quantile": lambda population, weights, levels: population.numbers(weights).quantiles(levels),
    "range": lambda population, weights, ends: population.numbers(weights).ranges(ends),
    "at_most": lambda population, weights, places: population.numbers(weights).at_most(places),
    "bin": lambda population, weights, bins: population.numbers(weights).bins([start for start, _ in bins]),
    "mean_within": lambda population, weights, groups: population.group_means(weights, groups),
}
"""For each statistic, the function that computes the true figures. Unknown figures are NaN."""


def holds(figure: Estimate, truth: float) -> bool:
    """Return whether the interval of a figure contains the true value."""
    return figure.low <= truth <= figure.high


def compared(estimated: MetricEstimate, truths: Truths) -> Iterator[tuple[FigureKey, Figure, float]]:
    """Yield the key, the estimate and the true value of each figure in ``truths``."""
    for group in estimated.groups:
        for key, figure in zip(group.keys, group.figures, strict=True):
            if key in truths:
                yield key, figure, truths[key]


def held(estimated: MetricEstimate, truths: Truths) -> dict[str, float]:
    """Return the fraction of each statistic's intervals that contain the true value.

    If a distribution function is estimated, the entry `WHOLE_BAND` is 1 if all of the function's
    intervals contain their true values, and otherwise 0.
    """
    by_statistic: dict[str, list[bool]] = {}
    for key, figure, truth in compared(estimated, truths):
        by_statistic.setdefault(key.statistic, []).append(holds(figure, truth))
    fractions = {statistic: sum(each) / len(each) for statistic, each in by_statistic.items()}
    if BAND in fractions:
        fractions[WHOLE_BAND] = float(fractions[BAND] == 1)
    return fractions


class Coverage(Record, frozen=True):
    """The fraction of a statistic's intervals that contain the true value."""

    rounds: Annotated[int, says("the number of rounds, each with new random numbers.")]
    population: Annotated[
        float,
        says(
            "the fraction of intervals that contain the population's true value if each round draws new devices. The "
            "confidence level of the intervals refers to this fraction."
        ),
    ]
    noise_alone: Annotated[
        float,
        says(
            "the fraction of intervals that contain the devices' own true value if each round uses the same devices. "
            "It is larger than the other fraction, because intervals also allow for the random choice of devices."
        ),
    ]


def coverages_of(
    of_population: Sequence[Mapping[str, float]], of_devices: Sequence[Mapping[str, float]]
) -> dict[str, Coverage]:
    """Compute the coverage of each statistic.

    ``of_population`` and ``of_devices`` contain the result of `held` for each round. The result is
    empty if there are no rounds.
    """
    rounds = len(of_population)

    def mean(each_round: Sequence[Mapping[str, float]], statistic: str) -> float:
        known = [fractions[statistic] for fractions in each_round if statistic in fractions]
        return sum(known) / max(1, len(known))

    statistics = of_population[0] if of_population else {}
    return {each: Coverage(rounds, mean(of_population, each), mean(of_devices, each)) for each in statistics}
