"""Every wrong device that reveals more than it claims is accused; no right device is."""

from __future__ import annotations

import inspect
import math
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from client_sdk.protocol.epsilon import NANOS
from estimator.audit.attack import LowerBound, attack, level_of
from tests.support.core.tables import for_each
from tests.support.laws import bands, group_mean_checks, set_checks, text_checks
from tests.support.mutants import block_designs, mechanisms, noise, optimal_means, permanent_answers, rounding, trees
from tests.support.mutants.audited import MUTANTS, RIGHT, Audited, mutant, right
from tests.support.mutants.audits import table_of

LEAST, N, MANY = 50_000, 100_000, 12_000_000
"""Observations of each answer: of what is far above its claim, of what is not above it, and the
most of any."""

SEED = 6

SHARPNESS = 750.0
"""The least excess that an audit proves falls with the root of its observations. An audit of all
these laws needs fewer than this by the square of the excess, except of the slightest."""

RARER = 10
"""Times as many where a delta forgives the likeliest evidence."""

UNSEEN = {
    "k-ary: keep numerator one too high",  # by less than 10**-18
    "binary: keep numerator one too high",
    "laplace: noise off by one",  # by 0.001
    "laplace: last draw never used",  # by 0.003
    "gaussian: epsilon declared too low",  # by 0.01, beside a delta that covers most of it
    "table: off by one draw",  # by less than 0.001
}
"""Mutants whose excess is too small for this many observations to show; the laws by enumeration
refuse them.
"""

NO_WORSE = {"rounding"}
"""Families without an excess: the rounding may be wrong, but the channel after it is right."""

PLAYED: set[ModuleType] = {
    bands,
    block_designs,
    mechanisms,
    noise,
    optimal_means,
    permanent_answers,
    rounding,
    group_mean_checks,
    set_checks,
    text_checks,
    trees,
}
"""The modules with wrong devices."""

NOT_PLAYED = {
    "amplification",  # wrong bounds
    "estimators",  # wrong estimates
    "leaks",  # wrong SDKs whose reports are right
    "promises",  # wrong products, one for each row of the privacy page
}
"""The modules with other wrong things."""

HELPERS = {"audited", "audits"}
"""The module that plays mutants."""

ARE_MADE = (block_designs, noise, optimal_means, trees)
MAKERS = {"balanced", "cyclic", "projective", "of_laplace", "of_gaussian", "of_tables", "hierarchical", "optimal_means"}
"""Functions that make wrong devices from a right one; all their results are played."""

MUTANTS_FOLDER = Path(mechanisms.__file__).parent


def observations_to_see(audited: Audited) -> int:
    """Return how many observations of each answer prove the excess."""
    times = RARER if audited.delta else 1
    return min(MANY, times * max(LEAST, math.ceil(SHARPNESS / audited.excess**2)))


def proofs(audited: Audited, n: int = N) -> list[tuple[float, LowerBound]]:
    """Attack every pair; return the true epsilon of each pair, and what was proved."""
    generator = np.random.default_rng(SEED)
    pairs = audited.pairs if n <= N else [max(audited.pairs, key=audited.truth)]
    level = level_of(len(pairs))

    def attacked(pair: tuple[int, int]) -> LowerBound:
        first, second = (audited.laws[side] for side in pair)
        return attack(table_of(first, second, n, generator), audited.claim, level)

    return [(audited.truth(pair), attacked(pair)) for pair in pairs]


@pytest.mark.long
@for_each("name", RIGHT)
def test_a_right_device_is_not_accused_and_nearly_all_of_its_epsilon_is_proved(name: str) -> None:
    for truth, proof in proofs(right(name)):
        assert proof.epsilon <= truth <= proof.claim.epsilon + 1 / NANOS
        assert proof.detectable is not None
        assert proof.epsilon > truth - 2 * proof.detectable


@pytest.mark.long
@for_each("name", MUTANTS)
def test_a_mutant_is_accused_if_its_true_epsilon_is_above_the_claim(name: str) -> None:
    audited = mutant(name)
    is_seen = audited.excess > 1 / NANOS and name not in UNSEEN
    results = proofs(audited, observations_to_see(audited) if is_seen else N)
    for truth, proof in results:
        assert proof.epsilon <= truth
    assert any(proof.excess > 0 for _, proof in results) == is_seen


@for_each("name", sorted(UNSEEN))
def test_what_no_sample_sees_is_less_than_the_audit_says_it_would_detect(name: str) -> None:
    audited = mutant(name)
    assert audited.excess > -1 / NANOS
    assert all(proof.detectable is not None and audited.excess < proof.detectable for _, proof in proofs(audited))


@pytest.mark.long
def test_every_family_has_mutants_of_both_kinds_except_those_that_reveal_no_more() -> None:
    families: dict[str, list[bool]] = {}
    for name in MUTANTS:
        families.setdefault(name.partition(":")[0], []).append(mutant(name).excess > 1 / NANOS)
    assert {family for family, worse in families.items() if not any(worse)} == NO_WORSE
    assert sum(map(sum, families.values())) > 30


def test_no_list_of_mutants_is_forgotten() -> None:
    with_mutants = {path.stem for path in MUTANTS_FOLDER.glob("*.py")} - HELPERS
    with_mutants |= {path.stem for path in MUTANTS_FOLDER.parent.glob("*/*.py") if "_MUTANTS: " in path.read_text()}
    assert with_mutants == {module.__name__.rpartition(".")[2] for module in PLAYED} | NOT_PLAYED
    named = {name.partition(": ")[2] for name in MUTANTS}
    for module in PLAYED:
        lists = [mutants for name, mutants in vars(module).items() if name.endswith("_MUTANTS")]
        makers = {
            name
            for name, mutants in inspect.getmembers(module, inspect.isfunction)
            if module in ARE_MADE and mutants.__module__ == module.__name__ and not name.startswith("_")
        }
        assert lists or makers
        assert makers <= MAKERS
        assert {name for mutants in lists for name in mutants} <= named
