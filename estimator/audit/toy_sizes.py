"""The exact audit of metrics whose answers are encoded as vectors or are texts.

The coins of a report have too many outcomes to run every outcome. The audit therefore runs all
outcomes at a toy size, and a few outcomes at full size.

**Vectors.** Vectors have dimension D. A report names one of B rotations and one of the 2 D signed
axes (see `rotated_axes`). In each rotation, the s axes near the vector are *favored*, which means
more likely than the other axes. Privacy depends on a single condition: exactly s axes are favored,
for every vector and rotation. Each symbol then has one of two probabilities. Let r be the ratio of
the larger probability to the smaller. The ratio of a symbol's probabilities for any two vectors is
then at most r. Two opposite vectors reach this maximum.

The coins of a report have more than s * (2 D - s) outcomes for each rotation. The audit of vectors
therefore has two parts:

* In dimension `LOW`, the device's code reports a few vectors with all outcomes of coins. The
  epsilon is the same as at full size. Two of the vectors are opposite.
* At full size, the audit counts the favored axes of a few vectors in some rotations. The audit
  checks that the device reports the axis that the coins choose. The audit also checks that an
  answer and the vector that encodes the answer lead to the same report.

**Texts.** In each of several *groups*, a text has a *cell* (an integer). A coin draws a group. A
*geometry*, which is a channel, then randomizes the text's cell in this group, or the cells of a
list of texts (see `grouped_geometry`). Privacy depends on two conditions: the probability of a
group does not depend on the texts, and the geometry randomizes the cells.

The coins have about 10**9 outcomes. The audit of texts also has two parts:

* At toy size, texts have at most three letters, the alphabet has two letters, and the geometry has
  13 points. The device's code reports all of these texts with all outcomes of coins. The epsilon is
  the same as at full size. If answers are lists, the code reports some lists of at most
  `MOST_ITEMS` texts.
* At full size, the coins choose a certain group and a certain symbol of the geometry. The audit
  checks that the device reports both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from math import comb
from typing import Any, Final, cast

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes, shifted
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.model import LABEL
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from client_sdk.protocol.text import Text
from client_sdk.protocol.vector import UNIT, Ball, lifted
from estimator.analyses.metric import analysis_of
from estimator.audit.answers import EncodedAnswer
from estimator.audit.compare import RequestedLoss, Walk
from estimator.audit.proof import Proof

LOW: Final = 8
"""The dimension of vectors at toy size."""

ROTATIONS: Final = 2
"""The number of rotations at toy size."""

SHAPES: Final = ((UNIT,), (-UNIT,), (0,), (1, -2), (UNIT // 2, UNIT // 3), (7, 7, 7, -7))
"""The first coordinates of the audited vectors. The first two vectors are opposite."""

LETTERS: Final = "ab"

LENGTH: Final = 3
"""The maximum number of letters of a text at toy size."""

PRIME: Final = 3

DIMENSION: Final = 3
"""The dimension of the geometry at toy size. With `PRIME`, this dimension leads to 13 points."""

TEXTS: Final = tuple("".join(letters) for size in range(LENGTH + 1) for letters in product(LETTERS, repeat=size))
"""All texts at toy size."""

MOST_ITEMS: Final = 3
"""The maximum number of texts in a list at toy size. Longer lists run the same code."""


def vector_proof(metric: Metric, request: RequestedLoss | None, after_law: Callable[[int], object]) -> Proof:
    """Return the proof for a report on a metric whose answers are encoded as vectors.

    Raises:
        AuditError: if the SDK cannot be enumerated.
    """
    channel = cast("RotatedAxes", metric.channel)
    low = low_dimension(channel)
    walk = Walk(f"one report, as in dimension {LOW}", low, after_law)
    for shape in SHAPES:
        vector: Any = lifted(shape, LOW)  # `Any`: other mechanisms' inputs are numbers
        walk.reported(partial(low.perturb, vector), EncodedAnswer(vector, {vector: Fraction(1)}))
    proof = walk.proof(metric.name, metric.epsilon_nanos, request)
    sets = comb(LOW, low.favoured) * 2**low.favoured  # a report depends only on the axes that the vector favors
    others = dict.fromkeys((*at_full_size(channel), *_as_answered(metric, channel)))
    return replace(proof, inputs=sets, mismatches=(*proof.mismatches, *others))


def low_dimension(channel: RotatedAxes) -> RotatedAxes:
    """Return a channel in dimension `LOW` with the same epsilon as ``channel``."""
    favoured = max(1, LOW * channel.favoured // channel.dimension)
    within = RequestedEpsilon(odds=channel.worst_ratio, text="that of the channel")
    return type(channel).within(within, LOW, ROTATIONS, favoured)


def at_full_size(channel: RotatedAxes) -> Iterator[str]:
    """Yield a sentence for each difference from the declaration, at the channel's full size."""
    favoured, others = channel.favoured, 2 * channel.dimension - channel.favoured
    keep = Fraction(channel.keep_numerator, COIN_SCALE)
    if channel.worst_ratio != keep / favoured / ((1 - keep) / others):
        yield "the ratio between a favored axis and another axis is not the declared ratio"
    for shape in SHAPES:
        vector = lifted(shape, channel.dimension)
        for rotation in (0, channel.rotations - 1):
            axes = channel.favoured_axes(shifted(vector, rotation, channel.window))
            if len(set(axes)) != favoured or not set(axes) <= set(range(2 * channel.dimension)):
                yield f"a vector does not have {favoured} favored axes among the {2 * channel.dimension} axes"
            yield from _followed(channel, vector, rotation, axes)


def _followed(channel: RotatedAxes, vector: Sequence[int], rotation: int, axes: Sequence[int]) -> Iterator[str]:
    """Yield a sentence if a report does not name the axis that its coins choose."""
    rest = [axis for axis in range(2 * channel.dimension) if axis not in set(axes)]
    for keep, place in ((True, 0), (True, -1), (False, 0), (False, -1)):
        coins = Script(rotation, keep, place % len(axes), place % len(rest))
        named = axes[place] if keep else rest[place]
        bounds = [channel.rotations, channel.keep_numerator, len(axes), len(rest)]
        if channel.perturb(vector, coins) != 2 * channel.dimension * rotation + named or coins.bounds != bounds:
            yield "a report does not name the axis that its coins choose"


def _as_answered(metric: Metric, channel: RotatedAxes) -> Iterator[str]:
    ends = (0, 0, 0), (channel.rotations - 1, channel.favoured - 1, 2 * channel.dimension - channel.favoured - 1)
    for answer, (rotation, *places), keep in product(_answers(metric), ends, (True, False)):
        vector = metric.encode(answer, Script())
        coins, of_vector = Script(rotation, keep, *places), Script(rotation, keep, *places)
        if metric.perturb(answer, coins) != channel.perturb(vector, of_vector) or coins.bounds != of_vector.bounds:
            yield "an answer is not reported in the same way as the vector that encodes it"


def _answers(metric: Metric) -> Iterator[object]:
    """Yield some answers.

    In a model's answer, either all features have their first value, or all have their last value.
    """
    observation = analysis_of(metric).observation
    if observation is None:
        yield from (each.value for each in metric.kind.extremes())
        yield [0] * cast("Ball", metric.kind).length
        return
    labels = [each.value for each in observation.label.extremes()] or observation.label.labels
    for last, of_label in product((False, True), labels):
        cells = ((feature, feature.cells - 1 if last else 0) for feature in observation.features)
        yield {feature.name: feature.answer_in(cell) for feature, cell in cells} | {LABEL: of_label}


class Script:
    """Coins with scripted outcomes, and a record of the bounds of all draws."""

    def __init__(self, *outcomes: int) -> None:
        """Take the outcomes in the order of use."""
        self.bounds: list[int] = []
        self._outcomes = iter(outcomes)

    def bernoulli(self, numerator: int) -> bool:
        """Return the next outcome as a boolean."""
        return bool(self.below(numerator))

    def below(self, bound: int) -> int:
        """Return the next outcome, or 0 if no outcome is left."""
        self.bounds.append(bound)
        return next(self._outcomes, 0)


def text_proof(metric: Metric, request: RequestedLoss | None, after_law: Callable[[int], object]) -> Proof:
    """Prove, at toy size, the epsilon of a report on a metric whose answers are texts.

    Raises:
        AuditError: if the SDK cannot be enumerated.
    """
    channel, domain = cast("GroupedGeometry", metric.channel), cast("Text", metric.kind)
    toy = toy_of(domain)
    cells = (PRIME**DIMENSION - 1) // (PRIME - 1)
    within = RequestedEpsilon(odds=channel.worst_ratio, text="that of the channel")
    weights = tuple(group.weight for group in toy.groups(cells))
    small = type(channel).within(within, PRIME, DIMENSION, weights, toy.max_items)
    toy_metric = replace(metric, kind=toy, channel=small)
    walk = Walk(f"one report, as for {LENGTH} letters", small, after_law)
    answers = text_answers(metric)
    for answer in answers:
        walk.reported(partial(toy_metric.perturb, answer), EncodedAnswer(answer, dict(toy.law(answer, cells))))
    proof = walk.proof(metric.name, metric.epsilon_nanos, request)
    return replace(
        proof, inputs=len(answers), mismatches=(*proof.mismatches, *dict.fromkeys(_at_full_size(channel, domain)))
    )


def text_answers(metric: Metric) -> Sequence[str | tuple[str, ...]]:
    """Return the answers to check at toy size: all texts or, if answers are lists, some lists."""
    most = toy_of(cast("Text", metric.kind)).max_items
    lists = (TEXTS[first : first + size] for size in range(most + 1) for first in range(0, len(TEXTS) - size, 2))
    return TEXTS if most == 1 else list(dict.fromkeys(lists))


def toy_of(domain: Text) -> Text:
    """Return a small version of a domain. The SDK runs the same code for both domains."""
    return type(domain)(LETTERS, LENGTH, discover=domain.discover, max_items=min(domain.max_items, MOST_ITEMS))


def _at_full_size(channel: GroupedGeometry, domain: Text) -> Iterator[str]:
    if channel.worst_ratio != channel.geometry.worst_ratio:
        yield "the channel's declared ratio differs from its geometry's ratio"
    total = sum(channel.weights)
    members = (0, 0) if channel.dummies else ()  # the coins that choose two members of a list come before the others
    for text in ("", domain.letters[0], domain.letters[-1] * domain.max_length):
        cells, below = domain.encoded([domain.number_of(text)], channel.inputs), 0
        for group, weight in enumerate(channel.weights):
            for drawn in (below, below + weight - 1):
                for keep in (True, False):
                    coins = Script(drawn, *members, keep, 1, 1)
                    inner = channel.geometry.perturb(cells[group], Script(*members, keep, 1, 1))
                    if channel.perturb(cells, coins) != group * channel.inputs + inner or coins.bounds[0] != total:
                        yield "a report does not name the group that its coins choose"
            below += weight
