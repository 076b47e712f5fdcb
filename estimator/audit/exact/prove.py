"""Walks the metrics of a registry and compares what they do with what they claim and declare.

It walks what a device runs: `Metric.encode` and `Metric.perturb`, as `record` calls them. For
permanent answers it walks `Permanent.settle`, with an ideal random function in place of the
device's, and then the `perturb` that follows.

An exact law either is the declared one or is not. So not only an epsilon above the claim is
refused. Each probability must be the declared one. Epsilon and delta must be those of the law to
the last digit, even where the SDK reveals less than it claims. They must not exceed those in the
registry. All paths to a symbol must take the same number of coins. Decoding takes the declared law
for granted; a device that does otherwise was changed without notice.

Of crosses, a symbol speaks of one feature, which a coin draws. Its probability depends on that
feature's cell and on the label alone. So the worst pair of observations of a symbol is among those
in which each cell of its feature stands with each label. Where there are more observations than can
be walked, those stand for all: one in which all features are in their first cell, their second one,
and so on, and one in which every other feature counts from its last cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Final, NamedTuple, cast

from client_sdk.protocol.channel import Channel, epsilon_nanos
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.model import LABEL, CrossedModel
from client_sdk.protocol.registry.registry import Registry
from estimator.audit.exact.answers import (
    MOST_PATHS,
    EncodedAnswer,
    WalkPlan,
    answers_of,
    coins_of_encoding,
    inputs_of,
    leaves_out_sets,
)
from estimator.audit.exact.compare import RequestedLoss, RequestedLosses, Walk
from estimator.audit.exact.proof import ExactAudit, Proof
from estimator.audit.exact.settling import settling
from estimator.audit.exact.toy_sizes import SHAPES, TEXTS, text_proof, vector_proof
from estimator.errors import AuditError

AfterLaw = Callable[[int], object]


def prove(
    registry: Registry,
    requests: Mapping[str, RequestedLosses],
    *,
    all_inputs: bool = False,
    after_law: AfterLaw = lambda _: None,
) -> ExactAudit:
    """Prove what a report of each metric of a registry reveals.

    Args:
        registry: defines the metrics that are walked.
        requests: the losses that their definitions request, by metric. A metric that is missing is
            not compared.
        all_inputs: whether all inputs of large alphabets are walked instead of a sample, however
            long it takes.
        after_law: called with 1 after each law.

    Raises:
        AuditError: if the SDK cannot be walked. The message says which metric, and why.

    """
    walked = (
        _proofs(metric, requests.get(name), after_law, all_inputs=all_inputs)
        for name, metric in registry.metrics.items()
    )
    return ExactAudit(tuple(proof for proofs in walked for proof in proofs))


def laws_walked(registry: Registry, *, all_inputs: bool = False) -> int:
    """Return how many laws `prove` walks."""
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
    """How the laws of a mechanism are walked.

    Attributes:
        laws: how many laws that are, for a question, and for all inputs or a sample.
        proofs: what is proved, for a question and the losses that its definition requests.

    """

    laws: Callable[[Metric, bool], int]
    proofs: Callable[[Metric, RequestedLosses, AfterLaw, bool], Iterator[Proof]]


def _walks_of(channel: Channel) -> Walks:
    return PERMANENT if channel.last_step is not channel else WALKS.get(channel.name, PLAIN)


def _laws_of_plain(metric: Metric, all_inputs: bool) -> int:  # noqa: FBT001 as all in the table
    return WalkPlan.of(metric, inputs_of(metric.channel, all_inputs=all_inputs), all_inputs=all_inputs).laws


def _plain(metric: Metric, requests: RequestedLosses, after_law: AfterLaw, all_inputs: bool) -> Iterator[Proof]:  # noqa: FBT001
    plan = WalkPlan.of(metric, inputs_of(metric.channel, all_inputs=all_inputs), all_inputs=all_inputs)
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
    return replace(proof, leaves_out_sets=leaves_out_sets(metric, all_inputs=all_inputs))


def _one_report(metric: Metric, plan: WalkPlan, after_law: AfterLaw) -> Walk:
    channel, encoding = metric.channel, coins_of_encoding(metric)
    walk = Walk("one report", channel, after_law)
    for answer in plan.encoded:
        walk.encoded(partial(metric.encode, answer.value), answer, encoding)
    for answer in plan.reported:
        walk.reported(partial(metric.perturb, answer.value), answer)
    for place in plan.rows:
        walk.reported(partial(channel.perturb, place), EncodedAnswer.of_input(place), encoding)
    return walk


def _afterwards(channel: Channel, inputs: tuple[int, ...], after_law: AfterLaw) -> Walk:
    """Walk a report of a permanent answer. It does not depend on earlier reports."""
    walk = Walk("a report of it", channel, after_law)
    for place in inputs:
        walk.reported(partial(channel.perturb, place), EncodedAnswer.of_input(place))
    return walk


def walked_cells(metric: Metric, *, all_inputs: bool) -> list[tuple[int, ...]]:
    """Return the features' cells that are walked, each with both labels."""
    counts = [feature.cells for feature in cast("CrossedModel", metric.kind).observation.features]
    cells: Iterable[tuple[int, ...]] = product(*map(range, counts))
    if not all_inputs and 2 * math.prod(counts) * metric.channel.symbols > MOST_PATHS:
        cells = ((*_diagonal(counts, cell, turned=turned),) for turned in (False, True) for cell in range(max(counts)))
    return list(dict.fromkeys(cells))


def crosses_proof(
    metric: Metric, request: RequestedLoss | None, after_law: Callable[[int], object], *, all_inputs: bool
) -> Proof:
    """Return what is proved of a report of crosses.

    Raises:
        AuditError: if the SDK cannot be walked.

    """
    observation = cast("CrossedModel", metric.kind).observation
    walk = Walk("one report", metric.channel, after_law)
    for cells, label in product(walked_cells(metric, all_inputs=all_inputs), (False, True)):
        values = zip(observation.features, cells, strict=True)
        answer = {feature.name: feature.answer_in(cell) for feature, cell in values} | {LABEL: label}
        given: Any = tuple(2 * cell + label for cell in cells)  # elsewhere an input is a number
        walk.reported(partial(metric.perturb, answer), EncodedAnswer(given, {given: Fraction(1)}))
    inputs = 2 * math.prod(feature.cells for feature in observation.features)
    return replace(walk.proof(metric.name, metric.epsilon_nanos, request), inputs=inputs)


def _diagonal(counts: list[int], cell: int, *, turned: bool) -> Iterable[int]:
    """Yield a cell of each feature; one with fewer cells stays at its last one."""
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
        lambda *_: len(TEXTS),
        lambda metric, requests, after_law, _: iter([text_proof(metric, requests.report, after_law)]),
    ),
    "crosses": Walks(
        lambda metric, all_inputs: 2 * len(walked_cells(metric, all_inputs=all_inputs)),
        lambda metric, requests, after_law, all_inputs: iter(
            [crosses_proof(metric, requests.report, after_law, all_inputs=all_inputs)]
        ),
    ),
}
"""The mechanisms whose laws are too many to walk as those of others."""
