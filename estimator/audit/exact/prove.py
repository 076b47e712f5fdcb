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

from client_sdk.spec import Metric, Registry
from client_sdk.spec.mechanisms.permanent import Permanent
from estimator.audit.exact.answers import Answer, answers_of, coins_of_encoding, inputs_of, whole_reports
from estimator.audit.exact.proof import ExactAudit, Proof
from estimator.audit.exact.request import Request, Requests
from estimator.audit.exact.settling import settling
from estimator.audit.exact.walk import Walk
from estimator.errors import AuditError

AfterLaw = Callable[[int], object]


def prove(registry: Registry, requests: Mapping[str, Requests], *, after_law: AfterLaw = lambda _: None) -> ExactAudit:
    """Prove what a report of each metric of a registry reveals.

    Args:
        registry: whose metrics are walked.
        requests: what their definitions ask for, by name; what is not there is not compared.
        after_law: called after each law that was walked, with 1.

    Raises:
        AuditError: if the SDK cannot be walked; the message says which metric, and why.

    """
    walked = (_proofs(metric, requests.get(name), after_law) for name, metric in registry.metrics.items())
    return ExactAudit(tuple(proof for proofs in walked for proof in proofs))


def laws_walked(registry: Registry) -> int:
    """Return about how many laws `prove` walks."""
    channels = (metric.channel for metric in registry.metrics.values())
    return sum((2 if isinstance(channel, Permanent) else 1) * len(inputs_of(channel)) for channel in channels)


def _proofs(metric: Metric, requests: Requests | None, after_law: AfterLaw) -> Iterator[Proof]:
    request = requests.report if requests else None
    try:
        if isinstance(metric.channel, Permanent):
            yield settling(metric, metric.channel, requests.permanent if requests else None, after_law)
            yield _a_report_of_it(metric, metric.channel, request, after_law)
        else:
            yield _one_report(metric, request, after_law)
    except AuditError as error:
        raise AuditError(f"{metric.name}: {error}") from error


def _one_report(metric: Metric, request: Request | None, after_law: AfterLaw) -> Proof:
    channel, encoding = metric.channel, coins_of_encoding(metric)
    inputs = inputs_of(channel)
    answers = answers_of(metric, inputs)
    walk = Walk("one report", channel, after_law)
    for answer in answers:
        walk.encoded(partial(metric.encode, answer.value), answer, encoding)
    reported = whole_reports(metric, answers)
    for answer in reported:
        walk.reported(partial(metric.perturb, answer.value), answer)
    alone = {place for answer in reported if len(answer.inputs) == 1 for place in answer.inputs}
    for place in inputs:
        if place not in alone:
            walk.reported(partial(channel.perturb, place), Answer.of_input(place), encoding)
    return walk.proof(metric.name, metric.epsilon_nanos, request)


def _a_report_of_it(metric: Metric, two_steps: Permanent, request: Request | None, after_law: AfterLaw) -> Proof:
    """A report of a permanent answer, whatever that and all earlier reports were."""
    channel = two_steps.instantaneous
    walk = Walk("a report of it", channel, after_law)
    for place in inputs_of(channel):
        walk.reported(partial(channel.perturb, place), Answer.of_input(place))
    return walk.proof(metric.name, metric.epsilon_nanos, request)
