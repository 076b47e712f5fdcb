"""The answers and inputs that the exact audit checks.

The SDK encodes an answer as an *input*, which is usually an integer of at least 0. A *channel*,
which is a mechanism with its parameters, turns the input into a random *symbol*. To *walk* an
answer or input is to run the SDK's code with every outcome of its coins (random draws). The result
is a *distribution*: the probability of each symbol.

**Inputs.** All inputs of a channel are walked if the number of inputs times the number of symbols
is at most `MOST_PATHS`. Otherwise, a sample of inputs is walked: the first two, the last two, the
middle one, and some random inputs. A *worst pair* is a pair of inputs for which some symbol's two
probabilities have the largest possible ratio. The sample always contains a worst pair, for the
following reasons:

* k-ary response, block designs and geometries: every pair is a worst pair. Each symbol has one
  probability for a set of favored inputs, and a smaller probability for all other inputs. For each
  pair of inputs, some symbol favors only one of the two. A cyclic design treats all values alike,
  because shifting all values by the same amount only permutes the symbols.
* Trees (`hierarchical`): the first and the last input are in different nodes on every level. Every
  pair of nodes on a level is a worst pair.
* Bands (`square_wave`, `optimal_mean`): from the first input to the last, the probability of a
  symbol rises and then falls. Each symbol is least likely at the first or the last input. The first
  symbol is most likely at the first input, and the last symbol at the last input.
* Added noise: the probability of a symbol decreases with its distance from the input. The largest
  ratio occurs if one of the two inputs is the smallest or the largest input. One of three pairs is
  therefore a worst pair: the first and the last input, the first two inputs, or the last two
  inputs.

If the largest ratio in the sample *equals* the declared ratio, the walk proves that this ratio
occurs. Only the reasons above show that no other pair has a larger ratio.

**Answers.** A number between two grid points is rounded at random to one of them. For instance,
2.25 becomes 2 with probability 3/4, and 3 with probability 1/4. The distribution of 2.25 is a
mixture of two inputs' distributions. The ratio of two mixtures never exceeds the largest ratio of
their components, and a hockey-stick divergence (see `proof`) is convex. Two numbers between grid
points are therefore never easier to tell apart than some two grid points. The audit still walks a
few numbers between grid points, to check the rounding.

**Sets.** A whole set of values is encoded as one input. The probability of a symbol depends only on
the number of set members that the symbol favors. The empty set and a set of the maximum size are
therefore a worst pair. If there are more than `MOST_SETS` sets, two sets of each size are walked.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from math import comb
from typing import Final, NamedTuple, cast

import numpy as np

from client_sdk.protocol.channel import COIN_SCALE, Channel
from client_sdk.protocol.kinds.cross import MeanByGroup
from client_sdk.protocol.kinds.grid import Grid
from client_sdk.protocol.kinds.number import Thresholds
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import of_shape
from estimator.audit.paths import Chances

MOST_PATHS = 2**17
"""The maximum number of paths to run for one metric. A *path* is a combination of coins' outcomes.

At 10 to 30 microseconds per path, an audit takes a few seconds. With k-ary response, all categories
are checked if a metric has at most 362 categories. With a geometry and 1,024 categories, 58 to 119
categories are checked.
"""

LEAST_INPUTS = 5
"""The minimum number of inputs to check: the first two, the last two, and the middle one."""

SEED = 1
"""The fixed seed for the choice of inputs. Every audit of a registry checks the same inputs."""

MOST_SETS = 2**8
"""The maximum number of possible sets for which the audit checks every set.

If an answer is a whole number and the metric's maximum is below `MOST_SETS`, the audit checks every
possible answer.
"""

PARTS = (Fraction(1, 3), Fraction(1, 2))
"""The positions of the checked numbers between two grid points, as fractions of a grid step.

Numbers at the position 1/3 also test how the SDK rounds probabilities: 1/3 is not a multiple of
2**-64, but a coin's probability always is.
"""

Answer = Hashable
"""An answer in the form that `client_sdk.protocol.metric.Metric.perturb` accepts."""


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """An answer and its possible inputs.

    Attributes:
        value: the answer.
        inputs: the declared probability of each possible input, such as {2: 3/4, 3: 1/4} for 2.25.
    """

    value: Answer
    inputs: Chances[int]

    @classmethod
    def of_input(cls, place: int) -> EncodedAnswer:
        """Return an answer that is always encoded as the input ``place``."""
        return cls(place, {place: Fraction(1)})


def inputs_of(channel: Channel, *, all_inputs: bool) -> tuple[int, ...]:
    """Return all inputs of a channel, or the sample to check, in ascending order."""
    every, last = channel.inputs, channel.inputs - 1
    size = max(LEAST_INPUTS, MOST_PATHS // channel.symbols)
    if all_inputs or size >= every:
        return tuple(range(every))
    ends = {0, 1, last // 2, last - 1, last}
    drawn = np.random.default_rng(SEED).choice(every, size, replace=False).tolist()
    return tuple(sorted(ends | set(drawn[: size - len(ends)])))


def answers_of(metric: Metric, inputs: tuple[int, ...], *, all_inputs: bool = False) -> list[EncodedAnswer]:
    """Return the answers to check. If answers are numbers, some of them lie between grid points."""
    answers = of_shape(metric.kind, WALKED_SHAPES).answers(metric, inputs, all_inputs)
    return [EncodedAnswer(answer, dict(metric.law(answer))) for answer in answers]


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """The answers and inputs that an exact audit checks for one metric.

    Attributes:
        encoded: the answers that are walked from the answer to its input.
        reported: the answers that are walked from the answer to the symbol.
        rows: the inputs that are walked from the input to the symbol. An input is left out if
            ``reported`` contains an answer that is always encoded as this input.
    """

    encoded: list[EncodedAnswer]
    reported: list[EncodedAnswer]
    rows: list[int]

    @classmethod
    def from_metric(cls, metric: Metric, *, all_inputs: bool) -> WalkPlan:
        """Choose the answers and inputs of a metric.

        Walking one number from the answer to the symbol takes about a thousand runs. Each run is
        slow, because the encoding computes with exact fractions. If answers are numbers,
        ``reported`` therefore contains only those between grid points, and two grid points at each
        end of the range.
        """
        inputs = () if sets_of(metric) else inputs_of(metric.channel, all_inputs=all_inputs)
        answers, last = answers_of(metric, inputs, all_inputs=all_inputs), metric.channel.inputs - 1
        reported = answers
        if of_shape(metric.kind, WALKED_SHAPES).is_slow:
            ends = {0, 1, last - 1, last}
            reported = [answer for answer in answers if len(answer.inputs) > 1 or answer.inputs.keys() & ends]
        alone = {place for answer in reported if len(answer.inputs) == 1 for place in answer.inputs}
        return cls(answers, reported, [place for place in inputs if place not in alone])

    @property
    def laws(self) -> int:
        """The number of distributions that the audit computes for this plan."""
        return len(self.reported) + len(self.rows)


def coins_of_encoding(metric: Metric) -> int:
    """Return the number of coins that are tossed to encode an answer to a metric."""
    return of_shape(metric.kind, WALKED_SHAPES).coins


def _labels(metric: Metric, inputs: tuple[int, ...], _: bool) -> list[Answer]:  # noqa: FBT001 like all functions in the table
    return [metric.labels[place] for place in inputs]


def _cells(metric: Metric, inputs: tuple[int, ...], _: bool) -> list[Answer]:  # noqa: FBT001 as above
    """Return two numbers for each input.

    Both are encoded as this input: the smallest such number, and almost the largest.
    """
    kind = cast("Thresholds", metric.kind)
    ends = [(kind.ends[place], kind.ends[place + 1]) for place in inputs]
    return [number for low, high in ends for number in dict.fromkeys((low, high - (high - low) / COIN_SCALE))]


def _numbers(metric: Metric, inputs: tuple[int, ...], _: bool) -> list[Answer]:  # noqa: FBT001 as above
    return _on_grid(cast("Grid", metric.kind), inputs, metric.channel.inputs - 1)


def _pairs(metric: Metric, _: tuple[int, ...], __: bool) -> list[Answer]:  # noqa: FBT001 as above
    kind = cast("MeanByGroup", metric.kind)
    return list(product(kind.first.labels, _on_grid(kind.second, tuple(range(kind.points)), kind.points - 1)))


def _on_grid(kind: Grid, inputs: tuple[int, ...], last: int) -> list[Answer]:
    places = [Fraction(place) for place in inputs]
    places += [cell + part for cell in dict.fromkeys((0, last // 2, last - 1)) for part in PARTS]
    numbers: Iterable[Fraction] = (kind.low + (kind.high - kind.low) * place / last for place in places)
    if kind.is_whole and kind.high < MOST_SETS:
        numbers = map(Fraction, range(int(kind.low), int(kind.high) + 1))
    stated = (Fraction(round(number)) if kind.is_whole else number for number in numbers)
    return list(dict.fromkeys(kind.answer_at(number) for number in stated))


def sets_of(metric: Metric) -> int:
    """Return the number of possible sets if a metric's answers are sets, and otherwise 0."""
    return of_shape(metric.kind, WALKED_SHAPES).sets(metric)


def leaves_out_sets(metric: Metric, *, all_inputs: bool) -> bool:
    """Return whether the audit checks only some of the possible sets."""
    return not all_inputs and sets_of(metric) > MOST_SETS


def _count_of_sets(metric: Metric) -> int:
    kind = cast("Subset", metric.kind)
    return sum(comb(len(kind.values), size) for size in range(kind.max_items + 1))


def _sets(metric: Metric, _: tuple[int, ...], all_sets: bool) -> list[Answer]:  # noqa: FBT001 as above
    """Return two sets of each size.

    If ``all_sets`` is true, or if few sets are possible, return all possible sets.
    """
    kind = cast("Subset", metric.kind)
    sizes = range(kind.max_items + 1)
    if all_sets or _count_of_sets(metric) <= MOST_SETS:
        return [members for size in sizes for members in combinations(kind.values, size)]
    ends = ((kind.values[:size], kind.values[len(kind.values) - size :]) for size in sizes)
    return list(dict.fromkeys(members for pair in ends for members in pair))


class WalkedShape(NamedTuple):
    """The method for checking the answers of one type of metric, such as numbers (`Grid`).

    Attributes:
        answers: a function that returns the answers to check. The arguments are the metric, the
            inputs to check, and whether to check all inputs.
        coins: the number of coins that are tossed to encode an answer.
        is_slow: whether the encoding uses exact fractions. If so, ``WalkPlan.reported`` contains
            only some answers.
        sets: a function that returns the number of possible sets, or 0 if answers are not sets.
    """

    answers: Callable[[Metric, tuple[int, ...], bool], list[Answer]]
    coins: int = 0
    is_slow: bool = False
    sets: Callable[[Metric], int] = lambda _: 0


WALKED_SHAPES: Final[Mapping[str, WalkedShape]] = {
    "Labels": WalkedShape(_labels),
    "Thresholds": WalkedShape(_cells),
    "Subset": WalkedShape(_sets, sets=_count_of_sets),
    "Grid": WalkedShape(_numbers, coins=1, is_slow=True),
    "MeanByGroup": WalkedShape(_pairs, coins=1),
}
"""The method for checking answers, for each class of `Metric.kind`.

The keys are the names of the classes or of their base classes.
"""
