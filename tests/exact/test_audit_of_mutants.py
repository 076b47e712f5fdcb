"""Every wrong channel that reveals more than it claims is accused; no right one is."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from client_sdk.spec import Channel
from client_sdk.spec.channel import epsilon_nanos
from client_sdk.spec.epsilon import RequestedEpsilon, as_float
from client_sdk.spec.exact import float_ceiling
from client_sdk.spec.mechanisms.cyclic_design import CyclicDesign
from client_sdk.spec.mechanisms.gaussian import Gaussian
from client_sdk.spec.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.spec.mechanisms.laplace import Laplace
from client_sdk.spec.mechanisms.projective_geometry import ProjectiveGeometry
from client_sdk.spec.mechanisms.randomized_response import RandomizedResponse
from estimator.audit.attack import Claim, Proof, attack, level_of
from tests.support import design_mutants, noise_mutants
from tests.support.audits import laws, table_of, true_epsilon
from tests.support.mutants import BINARY_MUTANTS, CHANNEL_MUTANTS

EPSILON = RequestedEpsilon.parse(Decimal(1))
K_ARY = KAryRandomizedResponse.within(EPSILON, 5)
BINARY = RandomizedResponse.within(EPSILON)
PAIRS, BLOCKS = CyclicDesign.within(EPSILON, 6, 2, 5), CyclicDesign.within(EPSILON, 7, 3, 2)
GEOMETRY = ProjectiveGeometry.within(EPSILON, 13, 3, 3)
LAPLACE = Laplace.within(EPSILON, 4, 2**10)
GAUSSIAN = Gaussian(4, 5, (40, 33, 18, 7, 2, 1), Fraction(3))

RIGHT: dict[str, Channel] = {
    "k-ary": K_ARY,
    "binary": BINARY,
    "pairs": PAIRS,
    "blocks": BLOCKS,
    "geometry": GEOMETRY,
    "laplace": LAPLACE,
    "gaussian": GAUSSIAN,
}
MUTANTS: dict[str, Channel] = {
    **{f"k-ary: {name}": make(K_ARY) for name, make in CHANNEL_MUTANTS.items()},
    **{f"binary: {name}": make(BINARY) for name, make in BINARY_MUTANTS.items()},
    **{f"pairs: {name}": mutant for name, mutant in design_mutants.cyclic(PAIRS).items()},
    **{f"blocks: {name}": mutant for name, mutant in design_mutants.cyclic(BLOCKS).items()},
    **{f"geometry: {name}": mutant for name, mutant in design_mutants.projective(GEOMETRY).items()},
    **{f"laplace: {name}": mutant for name, mutant in noise_mutants.of_laplace(LAPLACE).items()},
    **{f"gaussian: {name}": mutant for name, mutant in noise_mutants.of_gaussian(GAUSSIAN).items()},
}

N, MANY = 300_000, 12_000_000
SEED = 5

SLIGHT = 0.05
"""An excess which takes so many more observations that only the worst pair is told apart."""

UNSEEN = {
    "k-ary: keep numerator one too high",  # by less than 10**-18
    "binary: keep numerator one too high",
    "laplace: noise off by one",  # by 0.001
    "laplace: last draw never used",  # by 0.003
    "gaussian: epsilon declared too low",  # by 0.01, beside a delta that allows for much of it
}
"""Their epsilon is too large by less than so many observations show; the laws by enumeration refuse them."""


def claim_of(channel: Channel) -> Claim:
    return Claim(as_float(epsilon_nanos(channel)), float_ceiling(channel.delta))


def pairs_of(channel: Channel) -> list[tuple[int, int]]:
    """The ends, and two inputs between them, as the audit plays them."""
    return list(combinations(sorted({0, 1, channel.inputs // 2, channel.inputs - 1}), 2))


def proofs(channel: Channel, n: int = N) -> list[tuple[float, Proof]]:
    """Attack every pair; return the true epsilon of each beside what was proved."""
    generator, claim, found = np.random.default_rng(SEED), claim_of(channel), laws(channel)

    def truth(pair: tuple[int, int]) -> float:
        return true_epsilon(found[pair[0]], found[pair[1]], channel.delta)

    pairs = pairs_of(channel) if n == N else [max(pairs_of(channel), key=truth)]
    level = level_of(len(pairs))
    return [(truth((x, y)), attack(table_of(found[x], found[y], n, generator), claim, level)) for x, y in pairs]


def largest_epsilon(channel: Channel) -> float:
    return max(true_epsilon(law, other, channel.delta) for law, other in combinations(laws(channel), 2))


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_channel_is_not_accused_and_nearly_all_of_its_epsilon_is_proved(name: str) -> None:
    for truth, proof in proofs(RIGHT[name]):
        assert proof.epsilon <= truth <= proof.claim.epsilon
        assert proof.detectable is not None
        assert proof.epsilon > truth - 2 * proof.detectable


@pytest.mark.parametrize("name", MUTANTS)
def test_a_mutant_is_accused_if_its_true_epsilon_is_above_the_claim(name: str) -> None:
    channel = MUTANTS[name]
    excess = largest_epsilon(channel) - claim_of(channel).epsilon
    is_seen = excess > 0 and name not in UNSEEN
    found = proofs(channel, MANY if is_seen and excess < SLIGHT else N)
    for truth, proof in found:
        assert proof.epsilon <= truth
    assert any(proof.excess > 0 for _, proof in found) == is_seen


@pytest.mark.parametrize("name", sorted(UNSEEN))
def test_what_no_sample_sees_is_less_than_the_audit_says_it_would_detect(name: str) -> None:
    channel = MUTANTS[name]
    excess = largest_epsilon(channel) - claim_of(channel).epsilon
    assert all(proof.detectable is not None and excess < proof.detectable for _, proof in proofs(channel))


def test_mutants_of_both_kinds_are_there() -> None:
    worse = [name for name, channel in MUTANTS.items() if largest_epsilon(channel) > claim_of(channel).epsilon]
    assert len(worse) > 15
    assert len(MUTANTS) - len(worse) > 15
