"""The exact audit accepts every right mechanism and refuses every mutant, each put in place of the
SDK's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import pytest

from client_sdk.protocol import Channel, Coins, Metric, Registry, WindowKind
from client_sdk.protocol.kinds.boolean import Boolean
from client_sdk.protocol.kinds.category import Category
from client_sdk.protocol.kinds.kind import Kind
from client_sdk.protocol.kinds.number import Number
from client_sdk.protocol.mechanisms.exponential import Exponential
from client_sdk.protocol.mechanisms.permanent import CoinsOf, Permanent
from estimator.audit.compare import RequestedLoss, RequestedLosses
from estimator.audit.proof import Proof
from estimator.audit.prove import prove
from tests.exact.test_audit_of_mutants import UNSEEN
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, registry_text
from tests.support.laws.group_mean_checks import GROUP_MEAN_MUTANTS
from tests.support.laws.group_mean_checks import Report as GroupMeanReport
from tests.support.laws.group_mean_checks import right_report as right_report_of_means
from tests.support.laws.set_checks import SET_MUTANTS, Report, right_report
from tests.support.laws.text_checks import TEXT_MUTANTS, toy
from tests.support.laws.text_checks import Report as TextReport
from tests.support.laws.text_checks import right_report as right_report_of_texts
from tests.support.laws.utilities import ASYMMETRIC
from tests.support.mutants import audited, noise
from tests.support.mutants.audited import (
    EPSILON,
    GROUP_MEANS,
    HISTORIES,
    RIGHT_CHANNELS,
    SETS,
    SQUARE_WAVE,
    WRONG_CHANNELS,
)
from tests.support.mutants.permanent_answers import PERMANENT_MUTANTS, MakeFunction
from tests.support.mutants.rounding import ROUNDING_MUTANTS, Rounding

TABLE = Exponential.within(EPSILON, ASYMMETRIC)
NONE = "none"
"""The names of the right mechanism in lists of mutants."""


class Rounds(Number):
    """A number whose positions are rounded by a given function."""

    way: Rounding

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:
        assert isinstance(answer, Fraction)
        return type(self).way((answer - self.low) / (self.high - self.low) * (inputs - 1), inputs, coins)


class Reports(Metric):
    """A metric whose answers are reported by a given function."""

    way: Callable[[object, Coins], int]

    def perturb(self, answer: object, coins: Coins, window: str | None = None) -> int:  # noqa: ARG002 as in the base
        return type(self).way(answer, coins)


class Settles(Permanent):
    """Two steps, the first of which uses other coins."""

    make: MakeFunction

    def settle(self, encode: Callable[[Coins], int], coins_of: CoinsOf, *labels: str) -> tuple[int, int]:
        return super().settle(encode, partial(_function(type(self).make, coins_of), b""), *labels)


@cache
def _function(make: MakeFunction, coins_of: CoinsOf) -> Callable[..., Coins]:
    """Return the coins of one device: its fresh coins have a label that nothing else uses."""
    return make(coins_of("fresh"))


def asking(channel: Channel) -> Metric:
    """Return a metric of a kind that a channel suits."""
    values = tuple(f"v{place}" for place in range(channel.inputs))
    grids = ("laplace", "gaussian", "square-wave", "hierarchical")
    kind: Kind = Category(values) if channel.inputs > 2 else Boolean()
    if channel.name in grids:
        kind = Number(Fraction(0), Fraction(9), "mean")
    return Metric("m", "Why?", kind, channel, WindowKind.DAY)


def rounding(way: Rounding) -> Metric:
    domain = type("Rounds", (Rounds,), {"way": staticmethod(way)})(Fraction(0), Fraction(9), "mean")
    return Metric("m", "Why?", domain, SQUARE_WAVE, WindowKind.DAY)


def reporting(right: Metric, way: Report | GroupMeanReport | TextReport) -> Metric:
    given = {each.name: getattr(right, each.name) for each in fields(right) if each.init}
    metric_class: Metric = type("Reports", (Reports,), {"way": staticmethod(partial(way, right))})(**given)
    return metric_class


def settling(right: Metric, make: MakeFunction) -> Metric:
    channel = right.channel
    assert isinstance(channel, Permanent)
    kind: Any = type("Settles", (Settles,), {"make": staticmethod(make)})
    return replace(right, channel=kind(channel.permanent, channel.instantaneous))


RIGHT: dict[str, Metric] = {
    **{name: asking(channel) for name, channel in RIGHT_CHANNELS.items()},
    "table": asking(TABLE),
    "set": SETS,
    "set by way of another": reporting(SETS, right_report),
    "mean by group": GROUP_MEANS,
    "mean by group by way of another": reporting(GROUP_MEANS, right_report_of_means),
    "text": toy(),
    "text by way of another": reporting(toy(), right_report_of_texts),
    **{f"permanent: {name}": metric for name, (metric, _) in HISTORIES.items()},
    **{f"{name}: right": asking(channel) for name, channel in WRONG_CHANNELS.items() if name.endswith(NONE)},
}

TABLES = {f"table: {name}": asking(channel) for name, channel in noise.of_tables(TABLE).items()}

MUTANTS: dict[str, Metric] = {
    **{name: asking(channel) for name, channel in WRONG_CHANNELS.items() if not name.endswith(NONE)},
    **{name: metric for name, metric in TABLES.items() if not name.endswith(NONE)},
    **{f"set: {name}": reporting(SETS, way) for name, way in SET_MUTANTS.items()},
    **{f"mean by group: {name}": reporting(GROUP_MEANS, way) for name, way in GROUP_MEAN_MUTANTS.items()},
    **{f"text: {name}": reporting(toy(), way) for name, way in TEXT_MUTANTS.items()},
    **{f"rounding: {name}": rounding(way) for name, way in ROUNDING_MUTANTS.items()},
    **{f"permanent: {name}": settling(HISTORIES[name][0], make) for name, make in PERMANENT_MUTANTS.items()},
}


def proofs(name: str, metric: Metric) -> tuple[Proof, ...]:
    """Prove what a metric reveals; all channels have the same requested epsilon, except the
    hand-made Gaussian one.
    """
    request = RequestedLoss(EPSILON.odds)
    requests = {} if name.startswith(("gaussian", "permanent")) else {metric.name: RequestedLosses(request)}
    return prove(replace(BOOLEAN_REGISTRY, metrics={metric.name: metric}), requests).proofs


BOOLEAN_REGISTRY = Registry.parse(registry_text(m=BOOLEAN))


@for_each("name", RIGHT)
def test_a_right_mechanism_is_as_claimed_to_the_last_digit(name: str) -> None:
    for proof in proofs(name, RIGHT[name]):
        assert proof.mismatches == ()
        assert not proof.is_refused
        assert (proof.ratio, proof.delta) == (proof.claim.ratio, proof.claim.delta)


@pytest.mark.long
@for_each("name", MUTANTS)
def test_a_mutant_is_refused(name: str) -> None:
    assert any(proof.is_refused for proof in proofs(name, MUTANTS[name]))


def test_what_no_sample_sees_is_seen() -> None:
    for name in UNSEEN:
        assert any(proof.exceeded for proof in proofs(name, MUTANTS[name])), name


def test_every_wrong_device_that_the_sampling_audit_plays_is_played_here() -> None:
    assert set(MUTANTS) == {name for name in audited.MUTANTS if not name.endswith(NONE)}
    assert len(MUTANTS) > 100


def test_a_mutant_that_reveals_less_than_it_says_is_refused_for_what_it_declares() -> None:
    name = "k-ary: epsilon declared too high"
    (proof,) = proofs(name, MUTANTS[name])
    assert not proof.exceeded
    assert proof.mismatches
