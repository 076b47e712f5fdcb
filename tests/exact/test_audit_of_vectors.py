"""The exact audit proves the law of vectors, and refuses wrong devices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import pytest

from client_sdk.protocol import Coins, Registry
from client_sdk.protocol.mechanisms import rotated_axes
from client_sdk.protocol.mechanisms.rotated_axes import RotatedAxes
from estimator.audit.proof import Proof
from estimator.audit.prove import laws_walked, prove
from estimator.audit.toy_sizes import LOW, SHAPES
from tests.support.devices.definitions import VECTOR, registry_text

EPSILONS = ("0.5", "2", "6")


def registry(epsilon: str = "2") -> Registry:
    return Registry.parse(registry_text(embedding=VECTOR | {"epsilon": float(epsilon)}))


def proof(epsilon: str = "2") -> Proof:
    (proved,) = prove(registry(epsilon), {}).proofs
    return proved


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_the_whole_epsilon_and_no_more_is_proved_of_a_report(epsilon: str) -> None:
    proved = proof(epsilon)
    assert not proved.is_refused, proved.mismatches
    assert proved.ratio == proved.claim.ratio
    assert proved.claim.nanos == registry(epsilon).metric("embedding").epsilon_nanos
    assert proved.symbols == 2 * LOW * 2
    assert laws_walked(registry(epsilon)) == proved.walked.laws == len(SHAPES)
    assert not proved.is_whole


class LargestOnly(RotatedAxes):
    def favoured_axes(self, turned: Sequence[int]) -> list[int]:
        favoured = RotatedAxes.favoured_axes(self, turned)
        return favoured if turned[0] > 0 else favoured[:-1]


class FavouredTwice(RotatedAxes):
    def _others(self, favoured: list[int]) -> list[int]:
        return list(range(2 * self.dimension - len(favoured)))


class AlwaysKept(RotatedAxes):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        return RotatedAxes.perturb(replace(self, keep_numerator=2**64 - 1), value, coins)


class FewerCoins(RotatedAxes):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        rotation = coins.below(self.rotations)
        favoured = self.favoured_axes(rotated_axes.shifted(value, rotation, self.window))
        if coins.bernoulli(self.keep_numerator):
            axis = favoured[coins.below(self.favoured)]
        else:
            others = self._others(favoured)
            axis = others[coins.below(len(others))]
        return 2 * self.dimension * rotation + axis


class RotationByVector(RotatedAxes):
    def perturb(self, value: Sequence[int], coins: Coins) -> int:
        symbol = RotatedAxes.perturb(self, value, coins)
        return symbol % (2 * self.dimension) if value[0] < 0 else symbol


class MoreFavouredAtFullSize(RotatedAxes):
    def favoured_axes(self, turned: Sequence[int]) -> list[int]:
        favoured = RotatedAxes.favoured_axes(self, turned)
        return favoured if self.dimension == LOW else [*favoured[:-1], favoured[0]]


class DeclaresLess(RotatedAxes):
    @property
    def worst_ratio(self) -> Fraction:
        return 1 + (Fraction(RotatedAxes.worst_ratio.__get__(self)) - 1) / 2


MUTANTS = (
    LargestOnly,
    FavouredTwice,
    AlwaysKept,
    FewerCoins,
    RotationByVector,
    MoreFavouredAtFullSize,
    DeclaresLess,
)


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_wrong_device_is_refused(mutant: type[RotatedAxes], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotated_axes, "RotatedAxes", mutant)
    assert isinstance(registry().metric("embedding").channel, mutant)
    try:
        refused = proof().is_refused
    except Exception as error:  # noqa: BLE001 a device that fails is refused, too
        refused = "embedding" in str(error)
    assert refused
