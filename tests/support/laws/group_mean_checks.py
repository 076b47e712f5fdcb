"""The properties of a report of a number by group, and named wrong ways to make one, all checked by
the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import product

from client_sdk.protocol import COIN_SCALE, Coins, Metric
from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from tests.support.laws.coins import Law, walk

Answer = tuple[object, Fraction]

Report = Callable[[Metric, Answer, Coins], int]
"""How a group and a number become a symbol."""

PLACES = (Fraction(0), Fraction(1, 3), Fraction(1, 2), Fraction(2, 3), Fraction(1))
"""Where in the range numbers are tried."""


@dataclass(frozen=True)
class GroupMeanSubject:
    """A way to report a number by group under test.

    Attributes:
        metric: asks for it.
        report: the way.

    """

    metric: Metric
    report: Report

    @property
    def kind(self) -> MeanByGroup:
        assert isinstance(self.metric.kind, MeanByGroup)
        return self.metric.kind

    def answers(self) -> Iterator[Answer]:
        """Yield each group with some numbers, among them every point and both ends."""
        low, width = self.kind.second.low, self.kind.second.high - self.kind.second.low
        points = [Fraction(point, self.kind.points - 1) for point in range(self.kind.points)]
        places = sorted({*PLACES, *points})
        yield from product(self.kind.first.labels, (low + width * place for place in places))

    def law(self, answer: Answer) -> dict[int, Fraction]:
        law = walked(self, answer).chances
        return {symbol: law.get(symbol, Fraction(0)) for symbol in range(self.metric.channel.symbols)} | law


@cache
def walked(subject: GroupMeanSubject, answer: Answer) -> Law[int]:
    """Return the law of the report of an answer; several checks need it."""
    return walk(partial(subject.report, subject.metric, answer))


GroupMeanCheck = Callable[[GroupMeanSubject], None]


def law_is_that_of_the_two_nearest_points_of_the_group(subject: GroupMeanSubject) -> None:
    """The rounding is unbiased up to the last coin, and the rest is the channel."""
    domain, channel = subject.kind, subject.metric.channel
    for group, number in subject.answers():
        place = (number - domain.second.low) / (domain.second.high - domain.second.low) * (domain.points - 1)
        below = min(int(place), domain.points - 2)
        upper = Fraction(int((place - below) * COIN_SCALE), COIN_SCALE)
        first = domain.first.labels.index(group) * domain.points + below
        assert subject.law((group, number)) == {
            symbol: (1 - upper) * channel.probability(symbol, first) + upper * channel.probability(symbol, first + 1)
            for symbol in range(channel.symbols)
        }


def epsilon_is_that_of_the_channel(subject: GroupMeanSubject) -> None:
    """No two answers differ by more than the channel's epsilon.

    Two groups, or the two ends of one, differ by exactly that.
    """
    ratio = subject.metric.channel.worst_ratio
    laws = {answer: subject.law(answer) for answer in subject.answers()}
    columns = [[law[symbol] for law in laws.values()] for symbol in range(subject.metric.channel.symbols)]
    assert all(max(column) <= ratio * min(column) for column in columns)
    assert any(max(column) == ratio * min(column) for column in columns)


def every_answer_takes_the_same_coins(subject: GroupMeanSubject) -> None:
    assert len(set().union(*(walked(subject, answer).lengths for answer in subject.answers()))) == 1


GROUP_MEAN_CHECKS: list[GroupMeanCheck] = [
    law_is_that_of_the_two_nearest_points_of_the_group,
    epsilon_is_that_of_the_channel,
    every_answer_takes_the_same_coins,
]


def right_report(metric: Metric, answer: Answer, coins: Coins) -> int:
    return metric.perturb(answer, coins)


def _parts(metric: Metric, answer: Answer, coins: Coins) -> tuple[int, int, MeanByGroup]:
    """Return the group and the rounded point of an answer."""
    domain = metric.kind
    assert isinstance(domain, MeanByGroup)
    group, point = divmod(domain.encode(answer, domain.size, coins), domain.points)
    return group, point, domain


def _group_in_the_clear(metric: Metric, answer: Answer, coins: Coins) -> int:
    """Perturb the point alone, among the points of the true group."""
    group, point, domain = _parts(metric, answer, coins)
    channel = metric.channel
    assert isinstance(channel, KAryRandomizedResponse)
    return group * domain.points + KAryRandomizedResponse(domain.points, channel.keep_numerator).perturb(point, coins)


def _number_in_the_clear(metric: Metric, answer: Answer, coins: Coins) -> int:
    """Perturb the group alone, and report the point as it is."""
    group, point, domain = _parts(metric, answer, coins)
    reported = metric.channel.perturb(group * domain.points, coins) // domain.points
    return reported * domain.points + point


def _towards_low(metric: Metric, answer: Answer, coins: Coins) -> int:
    group, point, domain = _parts(metric, answer, _Never(coins))
    return metric.channel.perturb(group * domain.points + point, coins)


def _no_coin_at_the_ends(metric: Metric, answer: Answer, coins: Coins) -> int:
    domain = metric.kind
    assert isinstance(domain, MeanByGroup)
    rounding = _Never(coins, tosses=False) if answer[1] == domain.second.low else coins
    return metric.channel.perturb(domain.encode(answer, domain.size, rounding), coins)


def _point_before_group(metric: Metric, answer: Answer, coins: Coins) -> int:
    group, point, domain = _parts(metric, answer, coins)
    return metric.channel.perturb(point * domain.first.size + group, coins)


class _Never:
    """Coins that always round down."""

    def __init__(self, coins: Coins, *, tosses: bool = True) -> None:
        self._coins, self._tosses = coins, tosses

    def bernoulli(self, numerator: int) -> bool:
        return self._tosses and self._coins.bernoulli(numerator) and False

    def below(self, bound: int) -> int:
        return self._coins.below(bound)


GROUP_MEAN_MUTANTS: dict[str, Report] = {
    "the group in the clear": _group_in_the_clear,
    "the number in the clear": _number_in_the_clear,
    "always towards low": _towards_low,
    "no coin at the low end": _no_coin_at_the_ends,
    "the point before the group": _point_before_group,
}
"""Wrong ways to report a number by group."""
