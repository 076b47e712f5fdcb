"""Which inputs and answers are walked, and the law from an answer to inputs.

**Which inputs.** All of them, where all laws together have at most `MOST_PATHS` entries. Larger
alphabets are sampled: the first two inputs, the last two, the middle one, and as many others as
that allows, drawn once for all audits. The sample holds a worst pair, because of what the
mechanisms are:

* k-ary response, block designs and geometries: any pair will do. Their laws have only two
  probabilities, that of a symbol that supports the input and that of any other symbol. Each pair of
  inputs has a symbol that supports only one of them. (In a cyclic design, shifting all values
  shifts all symbols, so pairs with one difference are alike.)
* A tree: the first and the last input are in different nodes on every level, and any two nodes of
  a level will do.
* Bands: as the input goes from the first to the last, the weight of a
  symbol rises and then falls. So each symbol has its least weight at an end, where the first and
  the last symbol have their greatest one.
* Added noise: the farthest inputs are worst, because weights fall with the distance. The largest
  ratio is at an end of the range, or next to it, between the first two or the last two inputs.

If the proved ratio of the sample *is* the declared one, the argument holds for the sample. That no
other input exceeds it rests on the argument.

**Which answers.** An answer that is not a single input is a mixture of inputs: a number between two
points of a grid, or a set, of which a member is drawn. The probability of each symbol is then
linear in the mixture. A ratio of two mixtures never exceeds the largest ratio of their parts, and a
hockey-stick divergence is convex. (This mirrors "post-processing", Dwork & Roth 2014, section
3.5.1: a mixture is a randomised map *before* the channel, and no such map reveals more than its
inputs do.) So the points of the grid, or the members, are the worst answers. A few mixtures are
walked too, to check that they are what they should be.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from math import comb

import numpy as np

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.coins import COIN_SCALE
from client_sdk.protocol.domain.mean_by_group import MeanByGroup
from client_sdk.protocol.domain.model import ModelFeature
from client_sdk.protocol.domain.number import Count, Number
from client_sdk.protocol.domain.ordinal_mean import OrdinalMean
from client_sdk.protocol.domain.set import Subset
from client_sdk.protocol.metric import Metric
from estimator.audit.exact.paths import Chances

MOST_PATHS = 2**17
"""The most paths of all laws of a metric: a few seconds, at ten to thirty microseconds a path.
K-ary response walks all of 362 categories; projective geometry walks 58 to 119 of 1,024.
"""

LEAST_INPUTS = 5
"""The least inputs of a sample: the first two, the last two, and the middle one."""

SEED = 1
"""Chooses the same other inputs in every audit: a reviewer must see what the author saw."""

MOST_SETS = 2**8
"""Up to this many sets, or counts, all are walked. Each has a law like any other answer."""

PARTS = (Fraction(1, 3), Fraction(1, 2))
"""Where in a cell of a grid numbers are walked, as fractions of it. A third is no multiple of
2**-64.
"""

Answer = Hashable
"""An answer as `client_sdk.protocol.metric.Metric.perturb` takes it."""


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """An answer, and the law by which it should become an input.

    Attributes:
        value: the answer.
        inputs: the exact probability of each input.

    """

    value: Answer
    inputs: Chances[int]

    @classmethod
    def of_input(cls, place: int) -> EncodedAnswer:
        """Return an input of a channel as an answer that always becomes this input."""
        return cls(place, {place: Fraction(1)})


def inputs_of(channel: Channel, *, all_inputs: bool) -> tuple[int, ...]:
    """Return the inputs that are walked, rising: a sample of a large alphabet by default."""
    every, last = channel.inputs, channel.inputs - 1
    size = max(LEAST_INPUTS, MOST_PATHS // channel.symbols)
    if all_inputs or size >= every:
        return tuple(range(every))
    ends = {0, 1, last // 2, last - 1, last}
    drawn = np.random.default_rng(SEED).choice(every, size, replace=False).tolist()
    return tuple(sorted(ends | set(drawn[: size - len(ends)])))


def answers_of(metric: Metric, inputs: tuple[int, ...], *, all_inputs: bool = False) -> list[EncodedAnswer]:
    """Return the answers that are walked: those of one input each, and any mixtures."""
    domain = metric.domain
    if isinstance(domain, Subset):
        return [_set(domain, members) for members in _sets(domain, all_sets=all_inputs)]
    if isinstance(domain, Number):
        last = metric.channel.inputs - 1
        return [_number(domain, number, last) for number in dict.fromkeys(_numbers(domain, inputs, last))]
    if isinstance(domain, MeanByGroup):
        return list(_means(domain))
    labels = domain.labels
    return [EncodedAnswer(labels[place], {place: Fraction(1)}) for place in inputs]


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """What is walked of a metric.

    Attributes:
        encoded: answers that are walked up to the input.
        reported: answers that are walked all the way to the report.
        rows: inputs that are walked to the report, because no answer in ``reported`` always becomes
            them.

    """

    encoded: list[EncodedAnswer]
    reported: list[EncodedAnswer]
    rows: list[int]

    @classmethod
    def of(cls, metric: Metric, inputs: tuple[int, ...], *, all_inputs: bool) -> WalkPlan:
        """Return which answers to a metric are walked, and how far.

        Rounding a number in exact fractions is slow, and there are a thousand paths. So all numbers
        are walked up to the input, but only mixtures and the ends of the range are walked beyond
        it.
        """
        answers, last = answers_of(metric, inputs, all_inputs=all_inputs), metric.channel.inputs - 1
        reported = answers
        if isinstance(metric.domain, Number):
            ends = {0, 1, last - 1, last}
            reported = [answer for answer in answers if len(answer.inputs) > 1 or answer.inputs.keys() & ends]
        alone = {place for answer in reported if len(answer.inputs) == 1 for place in answer.inputs}
        return cls(answers, reported, [place for place in inputs if place not in alone])

    @property
    def laws(self) -> int:
        """The number of laws of reports that are walked."""
        return len(self.reported) + len(self.rows)


def coins_of_encoding(metric: Metric) -> int:
    """Return how many coins it takes to turn an answer into an input.

    It is the same for all answers of a domain.
    """
    return int(isinstance(metric.domain, Number | Subset | MeanByGroup))


def _numbers(domain: Number, inputs: tuple[int, ...], last: int) -> Iterator[Answer]:
    """Yield the points of a grid and some numbers between them.

    Counts and steps of a scale are whole numbers.
    """
    is_whole = isinstance(domain, Count | OrdinalMean)
    places = [Fraction(place) for place in inputs]
    places += [cell + part for cell in dict.fromkeys((0, last // 2, last - 1)) for part in PARTS]
    if is_whole and domain.high < MOST_SETS:
        yield from range(int(domain.low), int(domain.high) + 1)
        return
    for place in places:
        number = domain.low + (domain.high - domain.low) * place / last
        yield round(number) if is_whole else number


def _number(domain: Number, answer: Answer, last: int) -> EncodedAnswer:
    """Return a number with its law.

    Rounding is unbiased to 2**-64 of a cell, and never above the number on average.
    """
    assert isinstance(answer, Fraction | int)  # noqa: S101 `_numbers` yields nothing else
    position = (answer - domain.low) / (domain.high - domain.low) * last
    below = int(position)
    above = Fraction(int((position - below) * COIN_SCALE), COIN_SCALE)
    chances = {below: 1 - above, below + 1: above}
    value = domain.scale.values[int(answer) - 1] if isinstance(domain, OrdinalMean) else answer
    return EncodedAnswer(value, {place: chance for place, chance in chances.items() if chance})


def _means(domain: MeanByGroup) -> Iterator[EncodedAnswer]:
    """Yield every group with each point of the number, and with some numbers between."""
    last = domain.points - 1
    numbers = [_number(domain.second, number, last) for number in _numbers(domain.second, tuple(range(last + 1)), last)]
    for place, group in enumerate(domain.first.labels):
        for number in numbers:
            chances = {place * domain.points + point: chance for point, chance in number.inputs.items()}
            yield EncodedAnswer((group, number.value), chances)


def leaves_out_sets(metric: Metric, *, all_inputs: bool) -> bool:
    """Whether only some of the sets that a user can have are walked."""
    return isinstance(metric.domain, Subset) and not all_inputs and _count_of_sets(metric.domain) > MOST_SETS


def _count_of_sets(domain: Subset) -> int:
    return sum(comb(len(domain.values), size) for size in range(domain.max_items + 1))


def _sets(domain: Subset, *, all_sets: bool) -> Iterator[tuple[str, ...]]:
    """Yield all sets if that is requested or if there are few, else two sets of each size.

    These are the first values and the last ones.
    """
    values, most = domain.values, domain.max_items
    if all_sets or _count_of_sets(domain) <= MOST_SETS:
        for size in range(most + 1):
            yield from combinations(values, size)
        return
    for size in range(most + 1):
        yield from dict.fromkeys((values[:size], values[len(values) - size :]))


def _set(domain: Subset, members: tuple[str, ...]) -> EncodedAnswer:
    """Return a set with its law: members have equal probabilities, and a dummy has the rest."""
    each = Fraction(1, domain.max_items)
    chances = {domain.values.index(member): each for member in members}
    dummy = 1 - each * len(members)
    return EncodedAnswer(members, chances | ({len(domain.values): dummy} if dummy else {}))


def answer_in(feature: ModelFeature, cell: int) -> object:
    """Return an answer to a feature of a model in a cell: the middle of its range, or its value."""
    if isinstance(feature.domain, Number):
        low, high = feature.domain.low, feature.domain.high
        return low + (high - low) * Fraction(2 * cell + 1, 2 * feature.cells)
    return feature.domain.values[cell]
