"""What must hold of a report of a set, and named wrong ways to make one: all of them go through the
same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import combinations, permutations

from client_sdk.protocol import Coins, Metric
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from tests.support.laws.coins import exact_law, exact_paths

Answer = tuple[str, ...]

Report = Callable[[Metric, Answer, Coins], int]
"""How a set becomes a symbol."""


@dataclass(frozen=True)
class SetSubject:
    """A way to report sets under test.

    Attributes:
        metric: asks for a set by k-ary randomized response.
        report: the way.

    """

    metric: Metric
    report: Report

    @property
    def kind(self) -> Subset:
        assert isinstance(self.metric.kind, Subset)
        return self.metric.kind

    @property
    def channel(self) -> KAryRandomizedResponse:
        assert isinstance(self.metric.channel, KAryRandomizedResponse)
        return self.metric.channel

    def answers(self) -> Iterator[Answer]:
        """Yield every set that may be answered."""
        for size in range(self.kind.max_items + 1):
            yield from combinations(self.kind.values, size)

    def law(self, answer: Answer) -> dict[int, Fraction]:
        law = exact_law(partial(self.report, self.metric, answer))
        return {symbol: law.get(symbol, Fraction(0)) for symbol in range(self.channel.symbols)} | law


SetCheck = Callable[[SetSubject], None]


def law_is_the_mixture_of_members_and_dummies(subject: SetSubject) -> None:
    channel, places = subject.channel, subject.kind.max_items
    for answer in subject.answers():
        drawn = [subject.kind.values.index(value) for value in answer]
        drawn += [channel.inputs - 1] * (places - len(answer))
        assert len(drawn) == places
        assert subject.law(answer) == {
            symbol: sum((channel.probability(symbol, member) for member in drawn), Fraction(0)) / places
            for symbol in range(channel.symbols)
        }


def epsilon_is_that_of_the_channel(subject: SetSubject) -> None:
    """No two sets differ by more than the channel's epsilon; the empty set and a full one differ by
    all of it.
    """
    laws = {answer: subject.law(answer) for answer in subject.answers()}
    columns = [[law[symbol] for law in laws.values()] for symbol in range(subject.channel.symbols)]
    assert all(max(column) <= subject.channel.worst_ratio * min(column) for column in columns)
    full = [law for answer, law in laws.items() if len(answer) == subject.kind.max_items]
    dummy = subject.channel.symbols - 1
    assert all(laws[()][dummy] == subject.channel.worst_ratio * law[dummy] for law in full)


def estimate_is_unbiased(subject: SetSubject) -> None:
    """max_items (share of v - q) / (p - q) is exactly 1 on average if v is in the set, and 0 if it
    is not.
    """
    channel, domain = subject.channel, subject.kind
    p, q = channel.probability(0, 0), channel.probability(0, 1)
    for answer in subject.answers():
        law = subject.law(answer)
        for symbol, value in enumerate(domain.values):
            assert domain.max_items * (law[symbol] - q) / (p - q) == (value in answer)


def order_changes_nothing(subject: SetSubject) -> None:
    for answer in subject.answers():
        laws = [subject.law(turned) for turned in permutations(answer)]
        assert all(law == laws[0] for law in laws)


def set_coins_are_as_many_on_every_path(subject: SetSubject) -> None:
    walked = [exact_paths(partial(subject.report, subject.metric, answer)) for answer in subject.answers()]
    assert len({path.coins for paths in walked for path in paths}) == 1


SET_CHECKS: tuple[SetCheck, ...] = (
    law_is_the_mixture_of_members_and_dummies,
    epsilon_is_that_of_the_channel,
    estimate_is_unbiased,
    order_changes_nothing,
    set_coins_are_as_many_on_every_path,
)


def right_report(metric: Metric, answer: Answer, coins: Coins) -> int:
    return metric.perturb(answer, coins)


def _sampled(draw: Callable[[list[int], int, int, Coins], int]) -> Report:
    """Return a way that draws an input from (rising members, max_items, the dummy) and passes it to
    the channel.
    """

    def report(metric: Metric, answer: Answer, coins: Coins) -> int:
        subject = SetSubject(metric, right_report)
        members = sorted(subject.kind.values.index(value) for value in answer)
        dummy = metric.channel.inputs - 1
        return metric.channel.perturb(draw(members, subject.kind.max_items, dummy, coins), coins)

    return report


def _at(members: list[int], place: int, dummy: int) -> int:
    return members[place] if place < len(members) else dummy


def _not_padded(members: list[int], _: int, dummy: int, coins: Coins) -> int:
    place = coins.below(max(1, len(members)))
    return _at(members, place, dummy)


def _truncated(members: list[int], places: int, dummy: int, coins: Coins) -> int:
    return _at(members[: places - 1], coins.below(places), dummy)


def _first_always(members: list[int], places: int, dummy: int, coins: Coins) -> int:
    coins.below(places)
    return _at(members, 0, dummy)


def _dummy_never(members: list[int], places: int, dummy: int, coins: Coins) -> int:
    place = coins.below(places)
    return members[place % len(members)] if members else dummy


def _a_place_too_many(members: list[int], places: int, dummy: int, coins: Coins) -> int:
    return _at(members, coins.below(places + 1), dummy)


def _coin_for_members_only(members: list[int], places: int, dummy: int, coins: Coins) -> int:
    return _at(members, coins.below(places), dummy) if members else dummy


def _dummy_is_the_first_value(members: list[int], places: int, dummy: int, coins: Coins) -> int:
    return _at(members, coins.below(places), dummy) % dummy


def _dummy_not_noised(metric: Metric, answer: Answer, coins: Coins) -> int:
    symbol = right_report(metric, answer, coins)
    return symbol if answer else metric.channel.symbols - 1


def _first_of_a_list_likelier(metric: Metric, answer: Answer, coins: Coins) -> int:
    symbol = right_report(metric, answer, coins)
    return symbol if coins.below(4) or not answer else right_report(metric, answer[:1], coins)


SET_MUTANTS: dict[str, Report] = {
    "not padded": _sampled(_not_padded),
    "cut short": _sampled(_truncated),
    "the first member always": _sampled(_first_always),
    "a dummy never drawn": _sampled(_dummy_never),
    "a place too many": _sampled(_a_place_too_many),
    "a coin for members only": _sampled(_coin_for_members_only),
    "dummies told as the first value": _sampled(_dummy_is_the_first_value),
    "the empty set never noised": _dummy_not_noised,
    "the first of a list likelier": _first_of_a_list_likelier,
}
"""Wrong ways to report a set of at least two values, of which at least two may be answered."""
