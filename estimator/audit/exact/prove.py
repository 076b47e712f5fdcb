"""Walks the metrics of a registry and compares what they do with what they claim and declare.

It walks what a device runs: `Metric.encode` and `Metric.perturb`, as `record` calls them. For
permanent answers it walks `Permanent.settle`, with an ideal random function in place of the
device's, and then the `perturb` that follows.

An exact law either is the declared one or is not. So not only an epsilon above the claim is
refused. Each probability must be the declared one. Epsilon and delta must be those of the law to
the last digit, even where the SDK reveals less than it claims. They must not exceed those in the
registry. All paths to a symbol must take the same number of coins. Decoding takes the declared law
for granted; a device that does otherwise was changed without notice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from client_sdk.protocol.channel import Channel, epsilon_nanos
from client_sdk.protocol.mechanisms.permanent import Permanent
from client_sdk.protocol.metric import Metric
from client_sdk.protocol.models.crosses import Crosses
from client_sdk.protocol.registry.registry import Registry
from client_sdk.protocol.texts.grouped_geometry import GroupedGeometry
from client_sdk.protocol.vectors.rotated_axes import RotatedAxes
from estimator.audit.exact.answers import (
    EncodedAnswer,
    WalkPlan,
    answers_of,
    coins_of_encoding,
    inputs_of,
    leaves_out_sets,
)
from estimator.audit.exact.compare import Walk
from estimator.audit.exact.crosses import crosses_proof, walked_cells
from estimator.audit.exact.proof import ExactAudit, Proof
from estimator.audit.exact.request import RequestedLosses
from estimator.audit.exact.settling import settling
from estimator.audit.exact.texts import TEXTS, text_proof
from estimator.audit.exact.vectors import SHAPES, vector_proof
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
    channel, inputs = metric.channel, partial(inputs_of, all_inputs=all_inputs)
    if isinstance(channel, RotatedAxes):
        return len(SHAPES)
    if isinstance(channel, GroupedGeometry):
        return len(TEXTS)
    if isinstance(channel, Crosses):
        return 2 * len(walked_cells(metric, all_inputs=all_inputs))
    if isinstance(channel, Permanent):
        answers = answers_of(metric, inputs(channel.permanent), all_inputs=all_inputs)
        return len(answers) + len(inputs(channel.instantaneous))
    return WalkPlan.of(metric, inputs(channel), all_inputs=all_inputs).laws


def _proofs(
    metric: Metric, requests: RequestedLosses | None, after_law: AfterLaw, *, all_inputs: bool
) -> Iterator[Proof]:
    channel, inputs = metric.channel, partial(inputs_of, all_inputs=all_inputs)
    request = requests.report if requests else None
    try:
        if isinstance(channel, RotatedAxes):
            yield vector_proof(metric, request, after_law)
            return
        if isinstance(channel, GroupedGeometry):
            yield text_proof(metric, request, after_law)
            return
        if isinstance(channel, Crosses):
            yield crosses_proof(metric, request, after_law, all_inputs=all_inputs)
            return
        if isinstance(channel, Permanent):
            answers = answers_of(metric, inputs(channel.permanent), all_inputs=all_inputs)
            settled = settling(metric, channel, answers, after_law)
            yield settled.proof(metric.name, epsilon_nanos(channel.permanent), requests.permanent if requests else None)
            walk = _afterwards(channel.instantaneous, inputs(channel.instantaneous), after_law)
        else:
            walk = _one_report(metric, WalkPlan.of(metric, inputs(channel), all_inputs=all_inputs), after_law)
        proof = walk.proof(metric.name, metric.epsilon_nanos, request)
        yield replace(proof, leaves_out_sets=leaves_out_sets(metric, all_inputs=all_inputs))
    except AuditError as error:
        raise AuditError(f"{metric.name}: {error}") from error


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
