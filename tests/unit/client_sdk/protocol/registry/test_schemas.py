"""Schemas 1 and 2: what they share, and that each is read by its own rule."""

from __future__ import annotations

import pickle

import pytest

from client_sdk.protocol import Registry
from tests.support.devices.definitions import BOOLEAN, CATEGORY, NUMBER, registry_text

TEXT = registry_text(dark_mode=BOOLEAN, os=CATEGORY, visits=NUMBER | {"mechanism": "hybrid", "epsilon": 2})


def in_schema(number: int, text: str = TEXT) -> Registry:
    return Registry.parse(text.replace("schema = 1", f"schema = {number}"))


@pytest.mark.parametrize("number", [1, 2])
def test_a_registry_knows_its_schema_also_in_another_process(number: int) -> None:
    registry = in_schema(number)
    assert registry.schema == number
    assert pickle.loads(pickle.dumps(registry)) == registry  # noqa: S301 its own bytes


def test_registries_of_two_schemas_differ() -> None:
    assert in_schema(1) != in_schema(2)


def test_a_question_that_names_its_mechanism_has_one_edition_in_both_schemas() -> None:
    first, second = in_schema(1).metrics["visits"], in_schema(2).metrics["visits"]
    assert first == second
