"""The choice of inputs and answers to walk, and the probabilities of an answer's inputs.

To *walk* an input or answer is to run the SDK's code for it with every outcome of its coins.

**Inputs.** All inputs are walked if all distributions together have at most `MOST_PATHS` entries.
Larger alphabets are sampled. The sample contains the first two inputs, the last two, the middle
one, and as many random others as the limit allows. A worst pair is a pair of inputs with the
largest ratio of probabilities. The sample contains one, because of the structure of each mechanism:

* k-ary response, block designs and geometries: every pair is a worst pair. Each symbol supports a
  set of inputs. A symbol has one probability if it supports the device's input, and another if it
  does not. For each pair of inputs, some symbol supports only one of them. In a cyclic design,
  shifting all values shifts all symbols, so all pairs with the same difference are equivalent.
* Trees: the first and the last input are in different nodes on every level, and every pair of nodes
  on a level is a worst pair.
* Bands: as the input goes from the first to the last, the weight of a symbol rises and then falls.
  Each symbol therefore has its smallest weight at an end, and the first and the last symbol have
  their largest weight there.
* Added noise: the most distant inputs are worst, because weights fall with the distance. The
  largest ratio is at an end of the range, or next to an end, between the first two or the last two
  inputs.

If the proved ratio of the sample *equals* the declared ratio, the sample does contain a worst pair.
Only the argument above, and no walk, shows that no other pair exceeds this ratio.

**Answers.** A number between two points of a grid is rounded at random to one of them, so its
distribution of symbols is a mixture of the distributions of two inputs. A ratio of two mixtures
never exceeds the largest ratio of their parts, and a hockey-stick divergence is convex. The points
of the grid are therefore the worst answers. This is similar to "post-processing" (Dwork & Roth
2014, section 3.5.1), except that the randomized map is applied before the channel. A few mixtures
are walked too, to check their distributions.

Each set is a single input. The probability of a symbol depends only on how many members of the set
the symbol favors. If there are too many sets, two sets of each size are walked. No pair of sets has
a larger ratio than the full set and the empty set.
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
"""The maximum number of paths of a metric. At 10 to 30 microseconds per path, the walk takes a few
seconds. With k-ary response, all categories are walked if there are at most 362. With geometries,
58 to 119 of 1,024 categories are walked.
"""

LEAST_INPUTS = 5
"""The minimum number of inputs in a sample: the first two, the last two, and the middle one."""

SEED = 1
"""The fixed seed of the sample. Every audit chooses the same inputs, so that a reviewer gets the
same result as the author.
"""

MOST_SETS = 2**8
"""All sets, or all counts, are walked if there are at most this many."""

PARTS = (Fraction(1, 3), Fraction(1, 2))
"""The positions, within a cell of a grid, of the numbers that are walked. One third is included
because it is not a multiple of 2**-64.
"""

Answer = Hashable
"""An answer in the form that `client_sdk.protocol.metric.Metric.perturb` accepts."""


@dataclass(frozen=True, slots=True)
class EncodedAnswer:
    """An answer, and the exact distribution of its input.

    Attributes:
        value: the answer.
        inputs: the exact probability with which each input should be drawn for the answer.

    """

    value: Answer
    inputs: Chances[int]

    @classmethod
    def of_input(cls, place: int) -> EncodedAnswer:
        """Return an answer that is always encoded as a given input of the channel."""
        return cls(place, {place: Fraction(1)})


def inputs_of(channel: Channel, *, all_inputs: bool) -> tuple[int, ...]:
    """Return the inputs to walk, in rising order: either all inputs or a sample."""
    every, last = channel.inputs, channel.inputs - 1
    size = max(LEAST_INPUTS, MOST_PATHS // channel.symbols)
    if all_inputs or size >= every:
        return tuple(range(every))
    ends = {0, 1, last // 2, last - 1, last}
    drawn = np.random.default_rng(SEED).choice(every, size, replace=False).tolist()
    return tuple(sorted(ends | set(drawn[: size - len(ends)])))


def answers_of(metric: Metric, inputs: tuple[int, ...], *, all_inputs: bool = False) -> list[EncodedAnswer]:
    """Return the answers to walk: one for each input, and some answers that mix two inputs."""
    answers = of_shape(metric.kind, WALKED_SHAPES).answers(metric, inputs, all_inputs)
    return [EncodedAnswer(answer, dict(metric.law(answer))) for answer in answers]


@dataclass(frozen=True, slots=True)
class WalkPlan:
    """The answers and inputs of a metric to walk.

    Attributes:
        encoded: the answers to walk from the answer to the input.
        reported: the answers to walk from the answer to the report.
        rows: the inputs to walk from the input to the report. No answer in ``reported`` is always
            encoded as such an input.

    """

    encoded: list[EncodedAnswer]
    reported: list[EncodedAnswer]
    rows: list[int]

    @classmethod
    def from_metric(cls, metric: Metric, *, all_inputs: bool) -> WalkPlan:
        """Return which answers and inputs of a metric to walk, and through which steps.

        Rounding a number with exact fractions is slow, and a number has a thousand paths. All
        numbers are therefore walked to the channel's input, but only mixtures and the ends of the
        range are walked to the report.
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
        """The number of distributions of reports that are walked."""
        return len(self.reported) + len(self.rows)


def coins_of_encoding(metric: Metric) -> int:
    """Return the number of coins that the SDK tosses to turn an answer into an input.

    All answers to a metric take the same number of coins.
    """
    return of_shape(metric.kind, WALKED_SHAPES).coins


def _labels(metric: Metric, inputs: tuple[int, ...], _: bool) -> list[Answer]:  # noqa: FBT001 like all functions in the table
    return [metric.labels[place] for place in inputs]


def _cells(metric: Metric, inputs: tuple[int, ...], _: bool) -> list[Answer]:  # noqa: FBT001 as above
    """Return, for each cell, its lower end and a number just below its upper end."""
    kind = cast("Thresholds", metric.kind)
    ends = [(kind.ends[place], kind.ends[place + 1]) for place in inputs]
    return [number for low, high in ends for number in dict.fromkeys((low, high - (high - low) / COIN_SCALE))]


def _numbers(metric: Metric, inputs: tuple[int, ...], _: bool) -> list[Answer]:  # noqa: FBT001 as above
    return _on_grid(cast("Grid", metric.kind), inputs, metric.channel.inputs - 1)


def _pairs(metric: Metric, _: tuple[int, ...], __: bool) -> list[Answer]:  # noqa: FBT001 as above
    kind = cast("MeanByGroup", metric.kind)
    return list(product(kind.first.labels, _on_grid(kind.second, tuple(range(kind.points)), kind.points - 1)))


def _on_grid(kind: Grid, inputs: tuple[int, ...], last: int) -> list[Answer]:
    """Return the points of a grid and some numbers between the points.

    If answers are whole numbers, such as counts and steps of a scale, the numbers are rounded.
    """
    places = [Fraction(place) for place in inputs]
    places += [cell + part for cell in dict.fromkeys((0, last // 2, last - 1)) for part in PARTS]
    numbers: Iterable[Fraction] = (kind.low + (kind.high - kind.low) * place / last for place in places)
    if kind.is_whole and kind.high < MOST_SETS:
        numbers = map(Fraction, range(int(kind.low), int(kind.high) + 1))
    stated = (Fraction(round(number)) if kind.is_whole else number for number in numbers)
    return list(dict.fromkeys(kind.answer_at(number) for number in stated))


def sets_of(metric: Metric) -> int:
    """Return the number of sets that a user can answer; 0 if answers are not sets."""
    return of_shape(metric.kind, WALKED_SHAPES).sets(metric)


def leaves_out_sets(metric: Metric, *, all_inputs: bool) -> bool:
    """Return whether the walk leaves out some of the sets that a user can answer."""
    return not all_inputs and sets_of(metric) > MOST_SETS


def _count_of_sets(metric: Metric) -> int:
    kind = cast("Subset", metric.kind)
    return sum(comb(len(kind.values), size) for size in range(kind.max_items + 1))


def _sets(metric: Metric, _: tuple[int, ...], all_sets: bool) -> list[Answer]:  # noqa: FBT001 as above
    """Return all sets if requested or if there are few, otherwise two sets of each size.

    One of the two sets consists of the first values, and the other of the last values.
    """
    kind = cast("Subset", metric.kind)
    sizes = range(kind.max_items + 1)
    if all_sets or _count_of_sets(metric) <= MOST_SETS:
        return [members for size in sizes for members in combinations(kind.values, size)]
    ends = ((kind.values[:size], kind.values[len(kind.values) - size :]) for size in sizes)
    return list(dict.fromkeys(members for pair in ends for members in pair))


class WalkedShape(NamedTuple):
    """How to walk the answers of one shape.

    Attributes:
        answers: a function that returns the answers to walk, given a question, the inputs to walk,
            and whether all inputs are walked.
        coins: a function that returns the number of coins that turn an answer into an input.
        is_slow: whether encoding uses exact fractions. If it does, only some answers are walked to
            the report.
        sets: a function that returns the number of sets that a user can answer; 0 for other
            answers.

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
"""How to walk each shape of answers. Keys are the names of kinds' classes or base classes."""
