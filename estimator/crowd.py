"""True answers for a rehearsal: what each device of a crowd would answer, and by which law it becomes an input."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Final, NoReturn

import numpy as np

from client_sdk.spec import COIN_SCALE, Boolean, Metric, Number
from client_sdk.spec.domain import DomainError
from estimator.inverse.support import Floats
from estimator.tallies import Counts

TRUTH_VALUES: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}

DECIMAL_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
"""What spreadsheets write; Python's own reading would also take 1_000, NaN and infinities."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer and what the device's rounding makes of it.

    Attributes:
        value: the answer itself.
        point: the input symbol that the domain encodes it as.
        next_chance: the probability that it becomes ``point + 1`` instead.

    """

    value: bool | str | Decimal | Fraction
    point: int
    next_chance: float


@dataclass(frozen=True, slots=True, eq=False)
class Crowd:
    """What is true for one metric.

    Attributes:
        metric: the question.
        answers: the different answers.
        shares: how common each is in the population, of sum 1; shape (len(answers),).
        devices: how many devices record.
        at_hand: how many of them give each answer where that is known; otherwise they are drawn by ``shares``.

    """

    metric: Metric
    answers: tuple[Answer, ...]
    shares: Floats
    devices: int
    at_hand: Counts | None = None

    @classmethod
    def counted(cls, metric: Metric, counts: dict[Answer, int]) -> Crowd:
        """Return the crowd of devices that were counted by their answer."""
        at_hand = np.array(list(counts.values()), dtype=np.int64)
        devices = int(at_hand.sum())
        return cls(metric, tuple(counts), at_hand / max(devices, 1), devices, at_hand)

    def draw(self, generator: np.random.Generator) -> Counts:
        """Return how many devices give each answer if they are sampled from the population at random."""
        return generator.multinomial(self.devices, self.shares) if self.answers else np.zeros(0, dtype=np.int64)

    def inputs(self, counts: Counts, generator: np.random.Generator) -> Counts:
        """Return how many devices give the channel each input symbol, each rounded by its own coin; shape (k,)."""
        points = np.array([answer.point for answer in self.answers], dtype=np.int64)
        chances = np.array([answer.next_chance for answer in self.answers])
        rounded_up = generator.binomial(counts, chances)
        inputs = np.zeros(self.metric.channel.inputs + 1, dtype=np.int64)
        np.add.at(inputs, points, counts - rounded_up)
        np.add.at(inputs, points + 1, rounded_up)
        return inputs[:-1]  # nothing is rounded beyond the last input

    def truths(self, weights: Floats | Counts) -> tuple[float, ...]:
        """Return what is true of answers with such weights: the share of each label of the domain, or the mean."""
        total = math.fsum(weights.tolist())
        pairs = list(zip(self.answers, weights.tolist(), strict=True))
        if isinstance(self.metric.domain, Number):
            return (math.fsum(float(answer.value) * weight for answer, weight in pairs) / total,)
        by_label = {answer.value: weight / total for answer, weight in pairs}
        return tuple(by_label.get(label, 0.0) for label in self.metric.domain.labels)

    def distribution(
        self, weights: Floats | Counts, edges: Sequence[float], probabilities: Sequence[float]
    ) -> tuple[float, ...]:
        """Return what is true of the distribution of numbers with such weights.

        Returns:
            The variance; for each probability the least answer that so many devices do not exceed; the share of each
            bin between edges, in which its lower edge lies, and in the last one the upper one, too.

        """
        values = np.array([float(answer.value) for answer in self.answers])
        total = math.fsum(weights.tolist())
        (mean,) = self.truths(weights)
        variance = math.fsum((weights * (values - mean) ** 2).tolist()) / total
        rising = np.argsort(values)
        reached = np.searchsorted(np.cumsum(weights[rising]), np.array(probabilities) * total)
        quantiles = values[rising[np.minimum(reached, values.size - 1)]]
        bins, _ = np.histogram(values, bins=np.array(edges), weights=weights)
        return variance, *quantiles.tolist(), *(bins / total).tolist()


def read_answer(metric: Metric, cell: str) -> Answer:
    """Return the answer that a text states.

    Raises:
        ValueError: saying what an answer may be, without the text, if it states none.

    """
    value: bool | str | Decimal | None = cell
    expected = metric.domain.expected
    if isinstance(metric.domain, Boolean):
        value = TRUTH_VALUES.get(cell.strip().lower())
        expected = "true or false, yes or no, 1 or 0"
    elif isinstance(metric.domain, Number):
        value = _decimal(cell.strip())
    try:
        return encode(metric, value)
    except DomainError:
        raise ValueError(f"must be {expected}") from None


def encode(metric: Metric, value: object) -> Answer:
    """Return an answer with the law by which the metric's own domain rounds it.

    Raises:
        DomainError: if it is outside the domain.

    """
    coin = _AskedCoin()
    point = metric.domain.encode(value, metric.channel.inputs, coin)
    if not isinstance(value, bool | str | Decimal | Fraction):
        raise DomainError
    return Answer(value, point, coin.numerator / COIN_SCALE)


def distinct(answers: Iterable[tuple[Answer, int]]) -> dict[Answer, int]:
    """Return how often each answer was given; two texts such as 1 and 1.0 state one."""
    counts: dict[Answer, int] = {}
    for answer, count in answers:
        counts[answer] = counts.get(answer, 0) + count
    return counts


class _AskedCoin:
    """Remembers the one coin that a domain's rounding tosses, which here always falls on the lower point."""

    def __init__(self) -> None:
        self.numerator = 0

    def bernoulli(self, numerator: int) -> bool:
        self.numerator = numerator
        return False

    def below(self, bound: int) -> NoReturn:
        raise AssertionError(f"rounding asks for one of {bound}, which is no single coin")


def _decimal(text: str) -> Decimal | None:
    if not DECIMAL_NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except ArithmeticError:  # an exponent beyond what a Decimal holds
        return None
