"""How an answer becomes a permanent one: once and for all, and each answer by its own coins.

An ideal function (`IdealFunction`) replaces the device's pseudo-random one, as in every proof of
such a mechanism. What remains is how the SDK uses it. Settling an answer twice must give the same
result, so that any number of its reports reveals no more than its permanent answer. Answers that
become different inputs must have independent permanent answers. Both are laws of two settled
answers of one device, and they are walked as such.

An ideal function is a pseudo-random one as it looks without its secret: coins that stay with
labels.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from functools import partial
from itertools import pairwise

from client_sdk.protocol.channel import COIN_SCALE, Coins
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.metric import Metric
from estimator.audit.exact.answers import EncodedAnswer
from estimator.audit.exact.compare import Walk, integer
from estimator.audit.exact.paths import Chances, law_of
from estimator.errors import AuditError


class IdealFunction:
    """Coins that depend on labels: equal labels give equal coins, others independent ones.

    As in the device they are words of 64 bits. So two coins of one word are coupled as they are
    there: a coin that is true for a numerator is true for every greater one.
    """

    def __init__(self, coins: Coins) -> None:
        """Take the fresh coins from which each word is drawn when it is first needed."""
        self._coins = coins
        self._words: dict[tuple[str | int, ...], tuple[int, int]] = {}

    def __call__(self, *labels: str) -> _LabelledCoins:
        """Return the coins of labels."""
        return _LabelledCoins(self, labels)

    def word(self, place: tuple[str | int, ...], bound: int) -> int:
        """Return the integer below a bound at a place.

        Raises:
            AuditError: if the place was used with another bound.

        """
        if place not in self._words:
            self._words[place] = bound, self._coins.below(bound)
        first_bound, word = self._words[place]
        if first_bound != bound:
            raise AuditError("the SDK cannot be walked: it asks one pseudo-random word for two things")
        return word


class _LabelledCoins:
    def __init__(self, function: IdealFunction, labels: tuple[str, ...]) -> None:
        self._function = function
        self._labels = labels
        self._tossed = 0

    def bernoulli(self, numerator: int) -> bool:
        return self.below(COIN_SCALE) < numerator

    def below(self, bound: int) -> int:
        self._tossed += 1
        return self._function.word((*self._labels, self._tossed), bound)


MOST_SETTLED = 2**10
"""Up to this many inputs, two different answers are settled together: a million paths, some ten
seconds.
"""

Settled = tuple[int, ...]
"""Input and permanent answer of one answer, then of another."""


def settling(
    metric: Metric, channel: Permanent, answers: list[EncodedAnswer], after_law: Callable[[int], object]
) -> Walk:
    """Walk how answers are settled: what permanent answers reveal of a constant answer."""
    walk = Walk("permanent answer", channel.permanent, after_law)
    for answer in answers:
        law = law_of(partial(_settle, metric, channel, (answer, answer)), _settled)
        walk.compare("an answer that is settled twice", law.chances, _declared(walk, answer, answer))
        walk.add(_of_symbols(law.chances), answer, law.paths, _coins_of_symbols(law.coins))
    if channel.inputs <= MOST_SETTLED:
        for first, second in _different(answers):
            pair = law_of(partial(_settle, metric, channel, (first, second)), _settled)
            walk.compare("a pair of answers", pair.chances, _declared(walk, first, second))
    return walk


def _different(answers: list[EncodedAnswer]) -> Iterator[tuple[EncodedAnswer, EncodedAnswer]]:
    """Yield pairs of different answers: the ends of the domain, and answers between them."""
    first, *_ = answers
    alone = [answer for answer in answers if len(answer.inputs) == 1]
    yield first, alone[-1]
    mixed = [answer for answer in answers if len(answer.inputs) > 1]
    yield from ((first, answer) for answer in mixed)
    yield from pairwise(mixed)


def _settle(metric: Metric, channel: Permanent, answers: tuple[EncodedAnswer, ...], coins: Coins) -> list[int]:
    """Settle answers of one device as the SDK does."""
    function, settled = IdealFunction(coins), list[int]()
    for answer in answers:
        settled += channel.settle(partial(metric.encode, answer.value), function, metric.name, metric.edition)
    return settled


def _settled(outcome: object) -> Settled:
    assert isinstance(outcome, list)  # noqa: S101 `_settle` returns one
    return tuple(map(integer, outcome))


def _of_symbols(chances: Chances[Settled]) -> Chances[int]:
    """Return the law of the permanent answer alone: a device reports only from this."""
    symbols: defaultdict[int, Fraction] = defaultdict(Fraction)
    for (_, symbol, *_), chance in chances.items():
        symbols[symbol] += chance
    return dict(symbols)


def _coins_of_symbols(coins: Mapping[Settled, frozenset[int]]) -> dict[int, set[int]]:
    """Return the numbers of coins that lead to each permanent answer."""
    numbers: defaultdict[int, set[int]] = defaultdict(set)
    for (_, symbol, *_), taken in coins.items():
        numbers[symbol] |= taken
    return dict(numbers)


def _declared(walk: Walk, first: EncodedAnswer, second: EncodedAnswer) -> Chances[Settled]:
    """Return the declared law of two settled answers."""
    chances: defaultdict[Settled, Fraction] = defaultdict(Fraction)
    for (place, other), share in _coupled(first.inputs, second.inputs).items():
        for symbol, chance in walk.declared(EncodedAnswer.of_input(place)).items():
            if place == other:
                chances[place, symbol, place, symbol] += share * chance
                continue
            for another, its_chance in walk.declared(EncodedAnswer.of_input(other)).items():
                chances[place, symbol, other, another] += share * chance * its_chance
    return chances


def _coupled(first: Chances[int], second: Chances[int]) -> Chances[tuple[int, int]]:
    """Return the joint law of the inputs of two answers that one offset rounds.

    A lower offset rounds both up.
    """
    ends = sorted({end for inputs in (first, second) for end in _ends(inputs).values()})
    joint: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    begin = Fraction(0)
    for end in ends:
        joint[_at(first, begin), _at(second, begin)] += end - begin
        begin = end
    return joint


def _ends(inputs: Chances[int]) -> dict[int, Fraction]:
    """Return the upper end of the offsets that lead to each input, from the highest input on."""
    ends, end = {}, Fraction(0)
    for place in sorted(inputs, reverse=True):
        end += inputs[place]
        ends[place] = end
    return ends


def _at(inputs: Chances[int], offset: Fraction) -> int:
    return next(place for place, end in _ends(inputs).items() if offset < end)
