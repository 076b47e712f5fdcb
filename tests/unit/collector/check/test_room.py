"""A registry whose tallies do not fit into the store is refused before it is deployed."""

from __future__ import annotations

import pytest

from client_sdk.protocol import Registry
from collector.check.result import Level
from collector.check.store import check_room
from tests.support.devices.definitions import BOOLEAN, TEXT, registry_text

TEXTS = Registry.parse(registry_text(a=BOOLEAN, word=TEXT | {"cells": 131_072, "max_length": 16}))
"""1,517,400 symbols of texts."""


@pytest.mark.parametrize(
    ("shards", "free_bytes", "level", "said"),
    [
        (1, [20_000_000], Level.OK, "takes up to 12 MB in 1 shard"),
        (64, [400_000_000, 0, 400_000_000], Level.OK, "takes up to 777 MB in 64 shards"),
        (64, [300_000_000, 0, 400_000_000], Level.FAILED, "takes up to 777 MB in 64 shards, but 700 MB are free"),
        (1, [0], Level.FAILED, "let metric.word have a smaller tally (of texts, by cells)"),
    ],
)
def test_a_window_of_every_question_must_fit(shards: int, free_bytes: list[int], level: Level, said: str) -> None:
    result = check_room(TEXTS, shards, free_bytes)
    assert result.level is level
    assert said in result.text


def test_fewer_cells_make_smaller_tallies() -> None:
    small = Registry.parse(registry_text(word=TEXT | {"cells": 16_384, "max_length": 16}))
    assert check_room(small, 64, [100_000_000]).level is Level.OK


def test_strata_have_tallies_of_their_own() -> None:
    text = registry_text(a=BOOLEAN | {"strata": ["platform"]}) + '[strata]\nplatform = ["x", "y"]\n'
    assert check_room(Registry.parse(text), 1, [48]).level is Level.OK
    assert check_room(Registry.parse(text), 1, [47]).level is Level.FAILED
