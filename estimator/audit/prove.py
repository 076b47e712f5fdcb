"""The exact audit of a registry, which proves how much the reports on each metric reveal.

To *walk* code is to run it with every outcome of its coins (see `paths`). The audit walks
`Metric.encode` and `Metric.perturb`, which a device runs when an app calls `record`. For permanent
answers, the audit has two steps. The first step walks `Permanent.settle`, which draws the permanent
answer once. An ideal random function replaces the device's pseudo-random function (see `settling`).
The second step walks the channel, which turns the permanent answer into a report.

Besides the SDK's claim, the audit checks four requirements:

* Each probability must equal the declared one, because decoders use the declared probabilities.
* The declared epsilon and delta must equal the proved values to the last digit. If a proved value
  is smaller, somebody changed the SDK but not the declared value.
* Neither epsilon nor delta may exceed the value in the registry.
* All paths to a symbol must toss the same number of coins.

The mechanism `crosses` is for models. An observation has a yes-or-no label and several features.
The range of a feature is divided into *cells*. A report is about the label and one feature. A coin
chooses the feature. A symbol's probability depends only on the label and on the cell of this
feature. Walking each cell of each feature with each label therefore includes, for each symbol, the
two observations with the largest ratio of probabilities.

If there are too many observations, the audit walks only a few, which include all of these cells. In
the first half of these observations, all features are in their first cell, or all in their second
cell, and so on. In the other half, the cells of every second feature are counted from the end. With
two features of three cells, the first half is (0, 0), (1, 1), (2, 2), and the second half is (0,
2), (1, 1), (2, 0).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any, Final, NamedTuple, cast

from client_sdk.protocol.channel import COIN_SCALE, Channel, Coins, epsilon_nanos
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.model import LABEL, CrossedModel
from client_sdk.protocol.registry.registry import Registry
from estimator.audit.answers import (
    MOST_PATHS,
    EncodedAnswer,
    WalkPlan,
    answers_of,
    coins_of_encoding,
    inputs_of,
    leaves_out_sets,
    sets_of,
)
from estimator.audit.compare import RequestedLoss, RequestedLosses, Walk, integer
from estimator.audit.paths import Chances, law_of
from estimator.audit.proof import ExactAudit, Proof
from estimator.audit.toy_sizes import SHAPES, text_answers, text_proof, vector_proof
from estimator.errors import AuditError


class IdealFunction:
    """An ideal random function, which returns the same coins whenever the labels are the same.

    Coins for different labels are independent. As on a device, coins come from words of 64 bits.
    Two coins from the same word are dependent: if the less likely coin is true, the other coin is
    also true.
    """

    def __init__(self, coins: Coins) -> None:
        """Take the coins. Each word is drawn with these coins when the word is first used."""
        self._coins = coins
        self._words: dict[tuple[str | int, ...], tuple[int, int]] = {}

    def __call__(self, *labels: str) -> _LabeledCoins:
        """Return the coins for the given labels."""
        return _LabeledCoins(self, labels)

    def word(self, place: tuple[str | int, ...], bound: int) -> int:
        """Return the random integer of a place. All calls for a place return the same integer.

        Args:
            place: the labels, then the number of the coin with these labels, from 1.
            bound: the integer is from 0 to bound - 1.

        Raises:
            AuditError: if the integer of this place was drawn with another bound.
        """
        if place not in self._words:
            self._words[place] = bound, self._coins.below(bound)
        first_bound, word = self._words[place]
        if first_bound != bound:
            raise AuditError("the SDK cannot be enumerated: it uses one pseudo-random word for two purposes")
        return word


class _LabeledCoins:
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
"""The maximum number of inputs of a channel for which pairs of different answers are checked.

The coins of a pair then have a million outcomes, and the check takes about ten seconds.
"""

Settled = tuple[int, ...]
"""The input and permanent answer of a device's first answer, then those of its second answer."""


def settling(
    metric: Metric, channel: Permanent, answers: list[EncodedAnswer], after_law: Callable[[int], object]
) -> Walk:
    """Run the code that settles permanent answers, with every outcome of its coins.

    To *settle* an answer is to compute its input and its permanent answer from the answer and the
    device's secret. An ideal random function (`IdealFunction`) replaces the device's pseudo-random
    function, as is usual in proofs. Without the secret, nobody can distinguish the two functions.

    The audit checks two requirements on pairs of answers of one device:

    * If an answer is settled twice, the results must be equal. Many reports of this answer then
      reveal no more than the permanent answer.
    * If two answers have different inputs, their permanent answers must be independent.
    """
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
    """Yield some pairs of different answers, beginning with the first and the last answer."""
    first, *_ = answers
    alone = [answer for answer in answers if len(answer.inputs) == 1]
    yield first, alone[-1]
    mixed = [answer for answer in answers if len(answer.inputs) > 1]
    yield from ((first, answer) for answer in mixed)
    yield from pairwise(mixed)


def _settle(metric: Metric, channel: Permanent, answers: tuple[EncodedAnswer, ...], coins: Coins) -> list[int]:
    function, settled = IdealFunction(coins), list[int]()
    for answer in answers:
        settled += channel.settle(partial(metric.encode, answer.value), function, metric.name, metric.edition)
    return settled


def _settled(outcome: object) -> Settled:
    assert isinstance(outcome, list)  # noqa: S101 `_settle` returns one
    return tuple(map(integer, outcome))


def _of_symbols(chances: Chances[Settled]) -> Chances[int]:
    symbols: defaultdict[int, Fraction] = defaultdict(Fraction)
    for (_, symbol, *_), chance in chances.items():
        symbols[symbol] += chance
    return dict(symbols)


def _coins_of_symbols(coins: Mapping[Settled, frozenset[int]]) -> dict[int, set[int]]:
    numbers: defaultdict[int, set[int]] = defaultdict(set)
    for (_, symbol, *_), taken in coins.items():
        numbers[symbol] |= taken
    return dict(numbers)


def _declared(walk: Walk, first: EncodedAnswer, second: EncodedAnswer) -> Chances[Settled]:
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
    """Return the joint distribution of the inputs of two answers that the same offset rounds.

    The offset is a random number from 0 to 1. A number is rounded up if the offset is below the
    number's fractional part. For instance, 2.25 and 5.5 become 3 and 6 for offsets below 0.25, 2
    and 6 for offsets from 0.25 to 0.5, and 2 and 5 for larger offsets.
    """
    ends = sorted({end for inputs in (first, second) for end in _ends(inputs).values()})
    joint: defaultdict[tuple[int, int], Fraction] = defaultdict(Fraction)
    begin = Fraction(0)
    for end in ends:
        joint[_at(first, begin), _at(second, begin)] += end - begin
        begin = end
    return joint


def _ends(inputs: Chances[int]) -> dict[int, Fraction]:
    """Return the upper end of each input's range of offsets. The largest input comes first."""
    ends, end = {}, Fraction(0)
    for place in sorted(inputs, reverse=True):
        end += inputs[place]
        ends[place] = end
    return ends


def _at(inputs: Chances[int], offset: Fraction) -> int:
    return next(place for place, end in _ends(inputs).items() if offset < end)


AfterLaw = Callable[[int], object]


def prove(
    registry: Registry,
    requests: Mapping[str, RequestedLosses],
    *,
    all_inputs: bool = False,
    after_law: AfterLaw = lambda _: None,
) -> ExactAudit:
    """Prove how much a report on each of a registry's metrics reveals.

    Args:
        registry: the registry to audit.
        requests: for each metric, the limits on privacy loss that the registry requests. A metric
            without an entry is compared only with the SDK's claims.
        all_inputs: whether to check all inputs of a channel, even if this takes very long. By
            default, a sample is checked if a channel has many inputs.
        after_law: a function that is called with the argument 1 after each computed distribution.

    Raises:
        AuditError: if the SDK cannot be enumerated. The message names the metric and the reason.
    """
    walked = (
        _proofs(metric, requests.get(name), after_law, all_inputs=all_inputs)
        for name, metric in registry.metrics.items()
    )
    return ExactAudit(tuple(proof for proofs in walked for proof in proofs))


def laws_walked(registry: Registry, *, all_inputs: bool = False) -> int:
    """Return the number of distributions that `prove` computes."""
    return sum(_laws(metric, all_inputs=all_inputs) for metric in registry.metrics.values())


def _laws(metric: Metric, *, all_inputs: bool) -> int:
    return _walks_of(metric.channel).laws(metric, all_inputs)


def _proofs(
    metric: Metric, requests: RequestedLosses | None, after_law: AfterLaw, *, all_inputs: bool
) -> Iterator[Proof]:
    try:
        yield from _walks_of(metric.channel).proofs(metric, requests or RequestedLosses(), after_law, all_inputs)
    except AuditError as error:
        raise AuditError(f"{metric.name}: {error}") from error


class Walks(NamedTuple):
    """The functions that check metrics with a certain mechanism.

    Attributes:
        laws: a function that returns the number of distributions to compute. The arguments are the
            metric, and whether to check all inputs.
        proofs: a function that yields the proofs about a metric. The arguments are the metric, the
            requested limits, the function to call after each distribution, and whether to check all
            inputs.
    """

    laws: Callable[[Metric, bool], int]
    proofs: Callable[[Metric, RequestedLosses, AfterLaw, bool], Iterator[Proof]]


def _walks_of(channel: Channel) -> Walks:
    return PERMANENT if channel.permanent_nanos else WALKS.get(channel.name, PLAIN)


def _laws_of_plain(metric: Metric, all_inputs: bool) -> int:  # noqa: FBT001 like all functions in the table
    return WalkPlan.from_metric(metric, all_inputs=all_inputs).laws


def _plain(metric: Metric, requests: RequestedLosses, after_law: AfterLaw, all_inputs: bool) -> Iterator[Proof]:  # noqa: FBT001
    plan = WalkPlan.from_metric(metric, all_inputs=all_inputs)
    yield _report_proof(metric, _one_report(metric, plan, after_law), requests, all_inputs)


def _answers_of_permanent(metric: Metric, all_inputs: bool) -> list[EncodedAnswer]:  # noqa: FBT001
    permanent = cast("Permanent", metric.channel).permanent
    return answers_of(metric, inputs_of(permanent, all_inputs=all_inputs), all_inputs=all_inputs)


def _laws_of_permanent(metric: Metric, all_inputs: bool) -> int:  # noqa: FBT001
    afterwards = inputs_of(metric.channel.last_step, all_inputs=all_inputs)
    return len(_answers_of_permanent(metric, all_inputs)) + len(afterwards)


def _permanent(metric: Metric, requests: RequestedLosses, after_law: AfterLaw, all_inputs: bool) -> Iterator[Proof]:  # noqa: FBT001
    channel = cast("Permanent", metric.channel)
    settled = settling(metric, channel, _answers_of_permanent(metric, all_inputs), after_law)
    yield settled.proof(metric.name, epsilon_nanos(channel.permanent), requests.permanent)
    walk = _afterwards(channel.last_step, inputs_of(channel.last_step, all_inputs=all_inputs), after_law)
    yield _report_proof(metric, walk, requests, all_inputs)


def _report_proof(metric: Metric, walk: Walk, requests: RequestedLosses, all_inputs: bool) -> Proof:  # noqa: FBT001
    proof = walk.proof(metric.name, metric.epsilon_nanos, requests.report)
    inputs = sets_of(metric) or proof.inputs
    return replace(proof, inputs=inputs, leaves_out_sets=leaves_out_sets(metric, all_inputs=all_inputs))


def _one_report(metric: Metric, plan: WalkPlan, after_law: AfterLaw) -> Walk:
    channel, encoding = metric.channel, coins_of_encoding(metric)
    walk = Walk("one report", channel, after_law)
    for answer in plan.encoded:
        walk.encoded(partial(metric.encode, answer.value), answer, encoding)
    for answer in plan.reported:
        walk.reported(partial(metric.perturb, answer.value), answer)
    for place in plan.rows:
        walk.reported(partial(channel.perturb, place), EncodedAnswer.of_input(place), encoding, is_answer=False)
    return walk


def _afterwards(channel: Channel, inputs: tuple[int, ...], after_law: AfterLaw) -> Walk:
    """Report each of the given permanent answers with every outcome of the report's coins."""
    walk = Walk("a report of this answer", channel, after_law)
    for place in inputs:
        walk.reported(partial(channel.perturb, place), EncodedAnswer.of_input(place))
    return walk


def walked_cells(metric: Metric, *, all_inputs: bool) -> list[tuple[int, ...]]:
    """Return the combinations of cells to check, with one cell for each feature of a model.

    The audit checks each combination with both labels.
    """
    counts = [feature.cells for feature in cast("CrossedModel", metric.kind).observation.features]
    cells: Iterable[tuple[int, ...]] = product(*map(range, counts))
    if not all_inputs and 2 * math.prod(counts) * metric.channel.symbols > MOST_PATHS:
        cells = ((*_diagonal(counts, cell, turned=turned),) for turned in (False, True) for cell in range(max(counts)))
    return list(dict.fromkeys(cells))


def crosses_proof(
    metric: Metric, request: RequestedLoss | None, after_law: Callable[[int], object], *, all_inputs: bool
) -> Proof:
    """Return the proof about a report on a model's metric, whose mechanism is `crosses`.

    Raises:
        AuditError: if the SDK cannot be enumerated.
    """
    observation = cast("CrossedModel", metric.kind).observation
    walk = Walk("one report", metric.channel, after_law)
    for cells, label in product(walked_cells(metric, all_inputs=all_inputs), (False, True)):
        values = zip(observation.features, cells, strict=True)
        answer = {feature.name: feature.answer_in(cell) for feature, cell in values} | {LABEL: label}
        given: Any = tuple(2 * cell + label for cell in cells)  # `Any`: other mechanisms' inputs are numbers
        walk.reported(partial(metric.perturb, answer), EncodedAnswer(given, {given: Fraction(1)}))
    inputs = 2 * math.prod(feature.cells for feature in observation.features)
    return replace(walk.proof(metric.name, metric.epsilon_nanos, request), inputs=inputs)


def _diagonal(counts: list[int], cell: int, *, turned: bool) -> Iterable[int]:
    """Yield the given cell for each feature, or the last cell of a feature that has fewer cells.

    If ``turned``, the cells of every second feature are counted from the end.
    """
    for place, count in enumerate(counts):
        nearest = min(cell, count - 1)
        yield count - 1 - nearest if turned and place % 2 else nearest


PLAIN: Final = Walks(_laws_of_plain, _plain)


PERMANENT: Final = Walks(_laws_of_permanent, _permanent)


WALKS: Final[Mapping[str, Walks]] = {
    "rotated-axes": Walks(
        lambda *_: len(SHAPES),
        lambda metric, requests, after_law, _: iter([vector_proof(metric, requests.report, after_law)]),
    ),
    "grouped-geometry": Walks(
        lambda metric, _: len(text_answers(metric)),
        lambda metric, requests, after_law, _: iter([text_proof(metric, requests.report, after_law)]),
    ),
    "crosses": Walks(
        lambda metric, all_inputs: 2 * len(walked_cells(metric, all_inputs=all_inputs)),
        lambda metric, requests, after_law, all_inputs: iter(
            [crosses_proof(metric, requests.report, after_law, all_inputs=all_inputs)]
        ),
    ),
}
"""The checks of each mechanism that has too many inputs to check every input."""
