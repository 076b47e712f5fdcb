"""Which inputs and which answers are walked, and what a definition says of how an answer becomes an input.

**Which inputs.** All of them, where all laws have at most `MOST_PATHS` entries together. Of larger alphabets a sample:
the first two, the last two, the middle one, and others drawn once for all, as many as that allows. The sample holds a
pair that no other pair exceeds, because of what the mechanisms are:

* of k-ary response, cyclic designs and geometries any pair will do. Their laws have two chances only, of a symbol that
  speaks for the input and of one that does not; each pair of inputs has a symbol that speaks for the one and not for
  the other. (Of a cyclic design a shift of all values is a shift of all symbols, so that pairs of one difference are
  alike.)
* of bands and of the ends of a hybrid the weight of a symbol rises up to a place and then falls, as the input goes from
  the first to the last: the least weight of each symbol is that at an end, and the first and the last symbol have their
  greatest one there, too;
* of added noise the farthest inputs are worst: its weights fall with the distance. The largest ratio stands at an end
  of the range, or next to it between the first two and the last two inputs.

That the proved ratio of the sample *is* the declared one says that the argument holds; that no input beyond it exceeds
it rests on the argument.

**Which answers.** An answer that is not one input alone is a mixture of some: a number between two points of a grid, or
a set, of which a member is drawn. The chance of each symbol is then linear in the mixture. A ratio of two mixtures is
never above the largest ratio of their parts, and a hockey-stick divergence is convex (Dwork & Roth 2014, section 3.5.1,
"post-processing", the other way round: a mixture is a randomised map *before* the channel, and no map before it can
tell more than its inputs do). So the points of the grid, or the members, are the worst case of all answers; a few
mixtures are walked all the same, to see that they are what they should be.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from client_sdk.protocol import COIN_SCALE, Channel, Count, Metric, Number, Subset
from estimator.audit.exact.paths import Chances

MOST_PATHS = 2**17
"""Of all laws of a metric together: a few seconds, at ten to thirty microseconds a path. All of 362 categories are
walked by k-ary response; of 1,024 by projective geometry 58 to 119."""

LEAST_INPUTS = 5
"""Of a sample, however many symbols there are: the first two, the last two, and the middle one."""

SEED = 1
"""Which others, the same in every audit: a reviewer must see what the author saw."""

MOST_SETS = 2**8
"""All of so many sets are walked, and so are all of so many counts; each has a law like any other answer."""

PARTS = (Fraction(1, 3), Fraction(1, 2))
"""Of a cell of a grid, where numbers between its points are looked at; a third is no multiple of 2**-64."""

Answered = Hashable


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer, and the chance of each input that should stand for it.

    Attributes:
        value: as `client_sdk.protocol.Metric.perturb` takes it.
        inputs: the exact chances.

    """

    value: Answered
    inputs: Chances[int]

    @classmethod
    def of_input(cls, place: int) -> Answer:
        """Return an input of a channel as an answer that stands for it alone."""
        return cls(place, {place: Fraction(1)})


def inputs_of(channel: Channel, *, all_inputs: bool) -> tuple[int, ...]:
    """Return the inputs of a channel that are walked, rising: a sample, unless it is small or all are wanted."""
    every, last = channel.inputs, channel.inputs - 1
    size = max(LEAST_INPUTS, MOST_PATHS // channel.symbols)
    if all_inputs or size >= every:
        return tuple(range(every))
    ends = {0, 1, last // 2, last - 1, last}
    drawn = np.random.default_rng(SEED).choice(every, size, replace=False).tolist()
    return tuple(sorted(ends | set(drawn[: size - len(ends)])))


def answers_of(metric: Metric, inputs: tuple[int, ...]) -> list[Answer]:
    """Return the answers that are walked: those that stand for some inputs alone, and mixtures where there are any."""
    domain = metric.domain
    if isinstance(domain, Subset):
        return [_set(domain, members) for members in _sets(domain)]
    if isinstance(domain, Number):
        last = metric.channel.inputs - 1
        return [_number(domain, number, last) for number in dict.fromkeys(_numbers(domain, inputs, last))]
    labels = domain.labels
    return [Answer(labels[place], {place: Fraction(1)}) for place in inputs]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is walked of a metric.

    Attributes:
        encoded: answers up to the input that they become.
        reported: answers all the way to the report.
        rows: inputs from there to the report that none of these answers stands for alone.

    """

    encoded: list[Answer]
    reported: list[Answer]
    rows: list[int]

    @classmethod
    def of(cls, metric: Metric, inputs: tuple[int, ...]) -> Plan:
        """Return what is walked of a metric so that all of some inputs are.

        Rounding a number is slow, in exact fractions, for each of a thousand paths: all numbers are walked up to the
        input, but only mixtures and those at the ends of the range beyond it.
        """
        answers, last = answers_of(metric, inputs), metric.channel.inputs - 1
        reported = answers
        if isinstance(metric.domain, Number):
            ends = {0, 1, last - 1, last}
            reported = [answer for answer in answers if len(answer.inputs) > 1 or answer.inputs.keys() & ends]
        alone = {place for answer in reported if len(answer.inputs) == 1 for place in answer.inputs}
        return cls(answers, reported, [place for place in inputs if place not in alone])

    @property
    def laws(self) -> int:
        """How many laws of reports are walked."""
        return len(self.reported) + len(self.rows)


def coins_of_encoding(metric: Metric) -> int:
    """Return how many coins it takes to make an input of an answer: of every answer of a domain as many."""
    return int(isinstance(metric.domain, Number | Subset))


def _numbers(domain: Number, inputs: tuple[int, ...], last: int) -> Iterator[Answered]:
    """Yield the points of a grid and places between them; of counts those that are nearest to such places."""
    places = [Fraction(place) for place in inputs]
    places += [cell + part for cell in dict.fromkeys((0, last // 2, last - 1)) for part in PARTS]
    if isinstance(domain, Count) and domain.high < MOST_SETS:
        yield from range(int(domain.high) + 1)
        return
    for place in places:
        number = domain.low + (domain.high - domain.low) * place / last
        yield round(number) if isinstance(domain, Count) else number


def _number(domain: Number, answer: Answered, last: int) -> Answer:
    """Rounding is unbiased to one part in 2**64 of a cell, and never above the answer on average."""
    assert isinstance(answer, Fraction | int)  # noqa: S101 `_numbers` yields nothing else
    position = (answer - domain.low) / (domain.high - domain.low) * last
    below = int(position)
    above = Fraction(int((position - below) * COIN_SCALE), COIN_SCALE)
    chances = {below: 1 - above, below + 1: above}
    return Answer(answer, {place: chance for place, chance in chances.items() if chance})


def _sets(domain: Subset) -> Iterator[tuple[str, ...]]:
    """Yield all sets of the values, or the empty set, those of one value and the first and last of every size."""
    values, most = domain.values, domain.max_items
    if sum(comb(len(values), size) for size in range(most + 1)) <= MOST_SETS:
        for size in range(most + 1):
            yield from combinations(values, size)
        return
    sizes = dict.fromkeys((1, most // 2, most))
    yield from dict.fromkeys(
        ((), *(part for size in sizes for part in (values[:size], values[-size:] if size else ())))
    )


def _set(domain: Subset, members: tuple[str, ...]) -> Answer:
    """Each member is drawn with a chance of one in ``max_items``, and a dummy, the last input, with the rest."""
    each = Fraction(1, domain.max_items)
    chances = {domain.values.index(member): each for member in members}
    dummy = 1 - each * len(members)
    return Answer(members, chances | ({len(domain.values): dummy} if dummy else {}))
