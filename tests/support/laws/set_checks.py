"""The properties of a report of a set, and named wrong ways to make one, all checked by the same
code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, permutations

from client_sdk.protocol import Coins, Metric
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms.drawn_member import DrawnMember
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from tests.support.laws.bands import request
from tests.support.laws.coins import Law, walk

Answer = tuple[str, ...]

Report = Callable[[Metric, Answer, Coins], int]
"""How a set becomes a symbol."""


@dataclass(frozen=True)
class SetSubject:
    """A way to report sets under test.

    Attributes:
        metric: asks for a set by k-ary randomized response.
        epsilon: that the metric requests.
        report: the way.

    """

    metric: Metric
    epsilon: RequestedEpsilon
    report: Report

    @property
    def kind(self) -> Subset:
        assert isinstance(self.metric.kind, Subset)
        return self.metric.kind

    @property
    def channel(self) -> DrawnMember:
        return drawn_member(self.metric)

    def answers(self) -> Iterator[Answer]:
        """Yield every set that may be answered."""
        for size in range(self.kind.max_items + 1):
            yield from combinations(self.kind.values, size)

    def law(self, answer: Answer) -> dict[int, Fraction]:
        law = walked(self, answer).chances
        return {symbol: law.get(symbol, Fraction(0)) for symbol in range(self.channel.symbols)} | law


@cache
def walked(subject: SetSubject, answer: Answer) -> Law[int]:
    """Return the law of the report of an answer; several checks need it."""
    return walk(partial(subject.report, subject.metric, answer))


SetCheck = Callable[[SetSubject], None]


def drawn_member(metric: Metric) -> DrawnMember:
    assert isinstance(metric.channel, DrawnMember)
    return metric.channel


def every_member_and_dummy_is_favored_alike(subject: SetSubject) -> None:
    """A symbol of the padded set has probability r / (m r + k), any other 1 / (m r + k)."""
    ratio, places, values = subject.channel.worst_ratio, subject.kind.max_items, subject.kind.values
    for answer in subject.answers():
        padded = {*map(values.index, answer), *range(len(values) + len(answer), len(values) + places)}
        assert len(padded) == places
        total = places * ratio + len(values)
        weights = {symbol: ratio if symbol in padded else Fraction(1) for symbol in range(len(values) + places)}
        assert subject.law(answer) == {symbol: weight / total for symbol, weight in weights.items()}


def epsilon_is_that_of_the_channel(subject: SetSubject) -> None:
    """No two sets differ by more than the channel's epsilon. Some differ by exactly that, which is
    as close to the requested epsilon as 64 bits allow.
    """
    columns = list(zip(*(subject.law(answer).values() for answer in subject.answers()), strict=True))
    assert all(map(all, columns))
    worst = max(max(column) / min(column) for column in columns)
    assert worst == subject.channel.worst_ratio <= subject.epsilon.odds
    member = subject.channel.member
    larger = replace(member, keep_numerator=member.integers["keep_numerator"] + 1)  # type: ignore[type-var, operator]
    assert replace(subject.channel, member=larger).worst_ratio > subject.epsilon.odds


def estimate_is_unbiased(subject: SetSubject) -> None:
    """max_items (share of v - q) / (p - q) is exactly 1 on average if v is in the set, and 0 if it
    is not. The mean size is max_items minus the dummies.
    """
    member, domain = subject.channel.member, subject.kind
    p, q = member.probability(0, 0), member.probability(0, 1)
    for answer in subject.answers():
        shares = [domain.max_items * (chance - q) / (p - q) for chance in subject.law(answer).values()]
        assert shares[: len(domain.values)] == [value in answer for value in domain.values]
        assert domain.max_items - sum(shares[len(domain.values) :]) == len(answer)


def order_changes_nothing(subject: SetSubject) -> None:
    for answer in subject.answers():
        laws = [subject.law(turned) for turned in permutations(answer)]
        assert all(law == laws[0] for law in laws)


def set_coins_are_as_many_on_every_path(subject: SetSubject) -> None:
    assert len(set().union(*(walked(subject, answer).lengths for answer in subject.answers()))) == 1


SET_CHECKS: tuple[SetCheck, ...] = (
    every_member_and_dummy_is_favored_alike,
    epsilon_is_that_of_the_channel,
    estimate_is_unbiased,
    order_changes_nothing,
    set_coins_are_as_many_on_every_path,
)


def right_report(metric: Metric, answer: Answer, coins: Coins) -> int:
    return metric.perturb(answer, coins)


def _sampled(draw: Callable[[list[int], int, int, Coins], int]) -> Report:
    """Return a way that draws an input from (rising members, max_items, the number of values) and
    passes it to the channel of a member.
    """

    def report(metric: Metric, answer: Answer, coins: Coins) -> int:
        kind = metric.kind
        assert isinstance(kind, Subset)
        drawn = draw(kind.members(answer), kind.max_items, len(kind.values), coins)
        return drawn_member(metric).member.perturb(drawn, coins)

    return report


def _at(members: list[int], place: int, values: int) -> int:
    return members[place] if place < len(members) else values + place


def _not_padded(members: list[int], _: int, values: int, coins: Coins) -> int:
    return _at(members, coins.below(max(1, len(members))), values)


def _truncated(members: list[int], places: int, values: int, coins: Coins) -> int:
    return _at(members[: places - 1], coins.below(places), values)


def _first_always(members: list[int], places: int, values: int, coins: Coins) -> int:
    coins.below(places)
    return _at(members, 0, values)


def _one_dummy_for_all(members: list[int], places: int, values: int, coins: Coins) -> int:
    place = coins.below(places)
    return members[place] if place < len(members) else values


def _too_few_places(members: list[int], places: int, values: int, coins: Coins) -> int:
    return _at(members, coins.below(max(1, places - 1)), values)


def _coin_more_for_members(members: list[int], places: int, values: int, coins: Coins) -> int:
    if members:
        coins.below(2)
    return _at(members, coins.below(places), values)


def _the_complement(members: list[int], places: int, values: int, coins: Coins) -> int:
    padded = [_at(members, place, values) for place in range(places)]
    others = [each for each in range(values + places) if each not in padded]
    return others[coins.below(len(others))]


def _dummies_are_the_first_value(members: list[int], places: int, _: int, coins: Coins) -> int:
    place = coins.below(places)
    return members[place] if place < len(members) else 0


def _of_odds(odds: Callable[[Fraction, int], Fraction]) -> Report:
    """Return a way whose member has different odds, computed from those of sets and m."""

    def report(metric: Metric, answer: Answer, coins: Coins) -> int:
        channel = drawn_member(metric)
        of_member = request("1")._replace(odds=odds(channel.worst_ratio, channel.drawn))
        member = KAryRandomizedResponse.within(of_member, channel.inputs)
        return replace(channel, member=member).perturb(metric.encode(answer, coins), coins)

    return report


def _empty_not_noised(metric: Metric, answer: Answer, coins: Coins) -> int:
    symbol = right_report(metric, answer, coins)
    return symbol if answer else metric.channel.symbols - 1


def _first_of_a_list_likelier(metric: Metric, answer: Answer, coins: Coins) -> int:
    symbol = right_report(metric, answer, coins)
    return symbol if coins.below(4) or not answer else right_report(metric, answer[:1], coins)


SET_MUTANTS: dict[str, Report] = {
    "not padded": _sampled(_not_padded),
    "cut short": _sampled(_truncated),
    "the first member always": _sampled(_first_always),
    "one dummy for all places": _sampled(_one_dummy_for_all),
    "a place too few": _sampled(_too_few_places),
    "a coin more for members": _sampled(_coin_more_for_members),
    "the complement favored": _sampled(_the_complement),
    "dummies told as the first value": _sampled(_dummies_are_the_first_value),
    "odds of a place too many": _of_odds(lambda odds, drawn: 1 + (drawn + 1) * (odds - 1)),
    "odds of one member": _of_odds(lambda odds, _: odds),
    "the empty set never noised": _empty_not_noised,
    "the first of a list likelier": _first_of_a_list_likelier,
}
"""Wrong ways to report a set of at least two values, of which at least two may be answered."""
