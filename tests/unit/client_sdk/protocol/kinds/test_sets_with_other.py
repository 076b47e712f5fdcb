"""Sets in which a value stands for all unlisted texts: what merges, what is too large, the law."""

from __future__ import annotations

import traceback
from functools import partial

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from client_sdk.commands.codegen import module_of
from client_sdk.protocol import Metric, OutsideDomainError, Registry
from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.kinds.set import Subset
from client_sdk.protocol.statement import statement
from estimator.rehearsal.population import encode
from tests.support.devices.definitions import SET, metric_of, mistakes, registry_text
from tests.support.laws.coins import ScriptedCoins, exact_law, walk

VALUES = ("a", "b", "c")
OTHER = Subset(VALUES, 2, other="c")
STRICT = Subset(VALUES, 2)
MARK = "a text that must stay on the device"
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "x", "y", "z", ""]), max_size=6)


def members(domain: Subset, answer: object) -> list[int] | None:
    """Return the members of an answer, or None if it is refused."""
    try:
        return domain.members(answer)
    except DomainError:
        return None


def metric(**changes: str) -> Metric:
    return metric_of(SET | {"values": [*VALUES]} | changes, mechanism="k-ary-randomized-response")


@pytest.mark.slow
@settings(derandomize=True, max_examples=300)
@given(TEXTS)
def test_different_texts_merge_before_the_most_items_apply_and_one_text_twice_is_refused(answer: list[str]) -> None:
    merged = sorted({VALUES.index(text if text in VALUES else "c") for text in answer})
    is_sound = len(set(answer)) == len(answer) and len(merged) <= 2
    assert members(OTHER, answer) == (merged if is_sound else None)
    assert members(OTHER, tuple(answer)) == members(OTHER, answer)
    if is_sound:
        assert members(OTHER, set(answer)) == merged
    listed = is_sound and set(answer) <= set(VALUES)
    assert members(STRICT, answer) == (merged if listed else None)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        *((["a", "x", "y", "z"], [0, 2]), (["x", "c"], [2]), (["a", "b", "x"], None), (["x", "x"], None)),
        *((["a", "a"], None), (["a", 1], None), ("x", None)),
    ],
    ids=str,
)
def test_what_is_new_makes_no_set_too_large(answer: object, expected: list[int] | None) -> None:
    assert members(OTHER, answer) == expected


def test_texts_that_are_not_listed_have_the_law_of_the_value_that_stands_for_them() -> None:
    with_other = metric(other="c")
    same = [("a", "c"), ("a", "x"), ("c", "a", "x"), ("x", "y", "a", "z")]
    laws = [exact_law(partial(with_other.perturb, answer)) for answer in same]
    assert all(law == laws[0] for law in laws)
    assert laws[0] == exact_law(partial(metric().perturb, ("a", "c")))
    assert len(set().union(*(walk(partial(with_other.perturb, answer)).lengths for answer in [(), *same]))) == 1


def test_a_text_that_is_not_listed_is_in_no_error() -> None:
    with pytest.raises(OutsideDomainError) as caught:
        metric(other="c").perturb(["a", "b", MARK], ScriptedCoins([]))
    assert MARK not in "".join(traceback.format_exception(caught.value))
    assert "unlisted strings count as one member, 'c'" in str(caught.value)


def test_other_of_a_set_is_one_of_its_values_and_part_of_the_edition() -> None:
    assert mistakes(m=SET | {"other": "d"})["metric.m.other"].startswith("must be one of the listed values")
    editions = {metric().edition, *(metric(other=value).edition for value in VALUES)}
    assert len(editions) == 4
    assert OTHER.definition == {"values": [*VALUES], "max_items": 2, "other": "c"}


def test_statement_and_typed_code_say_that_any_text_is_taken() -> None:
    registry = Registry.parse(registry_text(m=SET | {"other": "c"}))
    assert "is not on the list counts as “c”, and its text stays on your device" in statement(registry)
    assert "AbstractSet[str] | list[str]" in module_of(registry)


def test_a_rehearsal_takes_the_same_sets() -> None:
    assert encode(metric(other="c"), ["a", "x", "y"]).value == ("a", "c")
