"""How an answer becomes a permanent one: once for all, and each by coins of its own.

The device's pseudo-random function is replaced by an ideal one (`IdealFunction`), as in every proof of such a
mechanism: what remains is how the SDK uses it. Settling the same answer twice must give the same twice, so that any
number of reports of it reveals no more than its permanent answer does; two answers that stand for two inputs must have
independent ones. Both are laws of two settled answers of one device, and are walked as such.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from itertools import pairwise

from client_sdk.protocol import Coins, Metric
from client_sdk.protocol.mechanisms.permanent import Permanent
from estimator.audit.exact.answers import Answer
from estimator.audit.exact.ideal import IdealFunction
from estimator.audit.exact.paths import Chances, law_of
from estimator.audit.exact.walk import Walk, integer

MOST_SETTLED = 2**10
"""Inputs of which two answers that differ are settled together: a million paths, some ten seconds."""

Settled = tuple[int, ...]
"""Input and permanent answer of one answer, and then of another."""


def settling(metric: Metric, channel: Permanent, answers: list[Answer], after_law: Callable[[int], object]) -> Walk:
    """Walk how answers are settled: what permanent answers reveal of one answer that does not change."""
    walk = Walk("permanent answer", channel.permanent, after_law)
    for answer in answers:
        law = law_of(partial(_settle, metric, channel, (answer, answer)), _settled)
        walk.compare("an answer that is settled twice", law.chances, _declared(walk, answer, answer))
        walk.add(_of_symbols(law.chances), answer, law.paths, set(law.coins))
    if channel.inputs <= MOST_SETTLED:
        for first, second in _different(answers):
            pair = law_of(partial(_settle, metric, channel, (first, second)), _settled)
            walk.compare("a pair of answers", pair.chances, _declared(walk, first, second))
    return walk


def _different(answers: list[Answer]) -> Iterator[tuple[Answer, Answer]]:
    """Yield the ends of a domain, and of a range what is between them beside each."""
    first, *_ = answers
    alone = [answer for answer in answers if len(answer.inputs) == 1]
    yield first, alone[-1]
    mixed = [answer for answer in answers if len(answer.inputs) > 1]
    yield from ((first, answer) for answer in mixed)
    yield from pairwise(mixed)


def _settle(metric: Metric, channel: Permanent, answers: tuple[Answer, ...], coins: Coins) -> list[int]:
    """Settle some answers of one device, as the SDK does."""
    function, settled = IdealFunction(coins), list[int]()
    for answer in answers:
        settled += channel.settle(partial(metric.encode, answer.value), function, metric.name, metric.edition)
    return settled


def _settled(outcome: object) -> Settled:
    assert isinstance(outcome, list)  # noqa: S101 `_settle` makes it
    return tuple(map(integer, outcome))


def _of_symbols(chances: Chances[Settled]) -> Chances[int]:
    """Return the law of the permanent answer alone: of all that was settled it is what a device ever reports from."""
    symbols: defaultdict[int, Fraction] = defaultdict(Fraction)
    for (_, symbol, *_), chance in chances.items():
        symbols[symbol] += chance
    return dict(symbols)


def _declared(walk: Walk, first: Answer, second: Answer) -> Chances[Settled]:
    """Return the declared law of two settled answers."""
    chances: defaultdict[Settled, Fraction] = defaultdict(Fraction)
    for (place, other), share in _coupled(first.inputs, second.inputs).items():
        for symbol, chance in walk.declared(Answer.of_input(place)).items():
            if place == other:
                chances[place, symbol, place, symbol] += share * chance
                continue
            for another, its_chance in walk.declared(Answer.of_input(other)).items():
                chances[place, symbol, other, another] += share * chance * its_chance
    return chances


def _coupled(first: Chances[int], second: Chances[int]) -> Chances[tuple[int, int]]:
    """Return the joint law of the inputs of two answers that one offset rounds: the lower it falls, the higher both."""
    ends = sorted({end for inputs in (first, second) for end in _ends(inputs).values()})
    joint: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    begin = Fraction(0)
    for end in ends:
        joint[_at(first, begin), _at(second, begin)] += end - begin
        begin = end
    return joint


def _ends(inputs: Chances[int]) -> dict[int, Fraction]:
    """Return where the offsets of each input end, from the highest input on."""
    ends, end = {}, Fraction(0)
    for place in sorted(inputs, reverse=True):
        end += inputs[place]
        ends[place] = end
    return ends


def _at(inputs: Chances[int], offset: Fraction) -> int:
    return next(place for place, end in _ends(inputs).items() if offset < end)
