"""Walks the metrics of a registry, and holds what they do against what they claim and declare.

Walked is what a device runs: `Metric.encode` and `Metric.perturb`, as `record` calls them; of permanent answers
`Permanent.settle`, with an ideal random function in the place of the device's, and the `perturb` of what follows.

An exact law is either the declared one or it is not. So more is refused than an epsilon above the claim: each chance
must be the declared one; epsilon and delta must be those of the law to the last digit, also where the SDK reveals less
than it says; they must be within what the registry asks for; and as many coins must be asked for on every path.
Whatever decodes the reports takes the declared law for granted, and a device that does otherwise was changed by
somebody who has not said so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from client_sdk.protocol import Channel, Metric, Registry
from client_sdk.protocol.channel import epsilon_nanos
from client_sdk.protocol.mechanisms.permanent import Permanent
from estimator.audit.exact.answers import Answer, Plan, answers_of, coins_of_encoding, inputs_of
from estimator.audit.exact.proof import ExactAudit, Proof
from estimator.audit.exact.request import Requests
from estimator.audit.exact.settling import settling
from estimator.audit.exact.walk import Walk
from estimator.errors import AuditError

AfterLaw = Callable[[int], object]


def prove(
    registry: Registry,
    requests: Mapping[str, Requests],
    *,
    all_inputs: bool = False,
    after_law: AfterLaw = lambda _: None,
) -> ExactAudit:
    """Prove what a report of each metric of a registry reveals.

    Args:
        registry: whose metrics are walked.
        requests: what their definitions ask for, by name; what is not there is not compared.
        all_inputs: whether all inputs of large alphabets are walked, however long it takes, and not a sample.
        after_law: called after each law that was walked, with 1.

    Raises:
        AuditError: if the SDK cannot be walked; the message says which metric, and why.

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
    if isinstance(channel, Permanent):
        return len(answers_of(metric, inputs(channel.permanent))) + len(inputs(channel.instantaneous))
    return Plan.of(metric, inputs(channel)).laws


def _proofs(metric: Metric, requests: Requests | None, after_law: AfterLaw, *, all_inputs: bool) -> Iterator[Proof]:
    channel, inputs = metric.channel, partial(inputs_of, all_inputs=all_inputs)
    request = requests.report if requests else None
    try:
        if isinstance(channel, Permanent):
            settled = settling(metric, channel, answers_of(metric, inputs(channel.permanent)), after_law)
            yield settled.proof(metric.name, epsilon_nanos(channel.permanent), requests.permanent if requests else None)
            walk = _afterwards(channel.instantaneous, inputs(channel.instantaneous), after_law)
        else:
            walk = _one_report(metric, Plan.of(metric, inputs(channel)), after_law)
        yield walk.proof(metric.name, metric.epsilon_nanos, request)
    except AuditError as error:
        raise AuditError(f"{metric.name}: {error}") from error


def _one_report(metric: Metric, plan: Plan, after_law: AfterLaw) -> Walk:
    channel, encoding = metric.channel, coins_of_encoding(metric)
    walk = Walk("one report", channel, after_law)
    for answer in plan.encoded:
        walk.encoded(partial(metric.encode, answer.value), answer, encoding)
    for answer in plan.reported:
        walk.reported(partial(metric.perturb, answer.value), answer)
    for place in plan.rows:
        walk.reported(partial(channel.perturb, place), Answer.of_input(place), encoding)
    return walk


def _afterwards(channel: Channel, inputs: tuple[int, ...], after_law: AfterLaw) -> Walk:
    """Walk a report of a permanent answer, whatever that and all earlier reports were."""
    walk = Walk("a report of it", channel, after_law)
    for place in inputs:
        walk.reported(partial(channel.perturb, place), Answer.of_input(place))
    return walk
