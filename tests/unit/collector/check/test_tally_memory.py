"""A registry whose tallies do not fit into the store is refused before it is deployed."""

from __future__ import annotations

import pytest

from client_sdk.protocol import Registry
from collector.check import Level, check_store, check_tally_memory
from collector.required_settings import ON_DISK
from collector.store import keys
from collector.store.redis_store import RedisStore
from collector.store.tally_memory import TallyMemory
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
    result = check_tally_memory(TallyMemory.of(TEXTS, shards), free_bytes)
    assert result.level is level
    assert said in result.text


def test_fewer_cells_make_smaller_tallies() -> None:
    small = Registry.parse(registry_text(word=TEXT | {"cells": 16_384, "max_length": 16}))
    assert check_tally_memory(TallyMemory.of(small, 64), [100_000_000]).level is Level.OK


def test_strata_have_tallies_of_their_own() -> None:
    text = registry_text(a=BOOLEAN | {"strata": ["platform"]}) + '[strata]\nplatform = ["x", "y"]\n'
    needed = TallyMemory.of(Registry.parse(text), 1)
    assert check_tally_memory(needed, [48]).level is Level.OK
    assert check_tally_memory(needed, [47]).level is Level.FAILED


def room(store: RedisStore) -> str:
    (text,) = (each.text for each in check_store(store, ON_DISK, TEXTS) if each.subject == "room")
    return text


def test_the_shards_are_those_of_the_store_and_of_a_new_one_only_if_there_is_none(store: RedisStore) -> None:
    assert room(store) == "a window of every question takes up to 12 MB in 1 shard, as a new store has"
    store.prepare()
    assert room(store) == "a window of every question takes up to 12 MB in 1 shard"
    store.shards.run_on_facts("HSET", keys.STORE, "shards", 64)  # as one that came from a cluster
    assert room(store).startswith("a window of every question takes up to 777 MB in 64 shards")
