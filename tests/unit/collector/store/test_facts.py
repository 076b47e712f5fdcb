from __future__ import annotations

import re
from collections.abc import Mapping

import pytest

from collector.errors import ConfigError
from collector.store.facts import name_to_go_on_with, numbered, require_facts, shards_to_name

NEW = {"name": "mine"}
NAMED = {"name": "mine", "named": "1"}


@pytest.mark.parametrize(
    ("facts", "borne", "said"),
    [
        (NAMED, ["mine", None, None, "mine"], "the store has lost shards 1-2, and"),
        (NAMED, [None, None], "the store has lost shards 0-1, and"),
        (NAMED, ["mine", "its", None], "another store's name is on shard 1:"),
        (NEW, [None, "its"], "another store's name is on shard 1:"),
    ],
)
def test_a_store_that_lost_shards_is_refused_by_their_numbers_with_the_ways_out(
    facts: Mapping[str, str], borne: list[str | None], said: str
) -> None:
    with pytest.raises(ConfigError, match=f"{re.escape(said)}.*bring back.*accept-loss"):
        shards_to_name(facts, borne)


def test_a_store_that_says_nothing_of_itself_is_new_unless_shards_of_one_are_there() -> None:
    require_facts({}, [None, None])
    require_facts(NAMED, [None, "mine"])
    with pytest.raises(ConfigError, match="lost the key hearsay:store, and shard 0:"):
        require_facts({}, [None, "mine"])


@pytest.mark.parametrize(
    ("facts", "borne", "name"),
    [
        ({}, [None, None], None),
        (NEW, [None, None], None),
        (NAMED, [None, None], "mine"),
        (NAMED, [None, "mine"], "mine"),
        ({}, [None, "mine"], "mine"),
        ({"name": "of a collector that came later"}, [None, "mine"], "mine"),
    ],
)
def test_what_is_left_tells_the_name_of_the_store(
    facts: Mapping[str, str], borne: list[str | None], name: str | None
) -> None:
    assert name_to_go_on_with(facts, borne) == name


@pytest.mark.parametrize(("facts", "borne"), [({}, ["its", "mine"]), (NAMED, ["its", None])])
def test_parts_of_two_stores_are_not_merged(facts: Mapping[str, str], borne: list[str | None]) -> None:
    with pytest.raises(ConfigError, match="several stores"):
        name_to_go_on_with(facts, borne)


@pytest.mark.parametrize(
    ("shards", "said"),
    [([], "no shard"), ([0], "shard 0"), ([3, 1, 2], "shards 1-3"), ([0, 2, 3, 9], "shards 0, 2-3, 9")],
)
def test_numbers_in_a_row_are_a_range(shards: list[int], said: str) -> None:
    assert numbered(shards) == said
