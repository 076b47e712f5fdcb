"""The keys of a question about texts, and what does not suit it."""

from __future__ import annotations

import pytest

from client_sdk.protocol import OutsideDomainError, Registry, RegistryError
from client_sdk.protocol.mechanisms.grouped_geometry import GroupedGeometry
from client_sdk.protocol.text import CELLS_ALLOWED, PRESETS, Text
from tests.support.core.tables import for_each
from tests.support.devices.definitions import BOOLEAN, TEXT, Field, metric_of, mistakes, registry_text, without
from tests.support.laws.coins import SteadyCoins


def test_letters_and_length_are_read() -> None:
    domain = metric_of(TEXT).kind
    assert isinstance(domain, Text)
    assert (domain.letters, domain.max_length, domain.discover, domain.max_items) == (TEXT["letters"], 12, True, 1)


@pytest.mark.parametrize("preset", [name for name in PRESETS if PRESETS[name].isprintable()])
def test_a_preset_stands_for_its_letters(preset: str) -> None:
    named = metric_of(without(TEXT, "letters") | {"preset": preset})
    assert named.edition == metric_of(TEXT | {"letters": PRESETS[preset]}).edition


@for_each("cells", CELLS_ALLOWED)
@for_each("epsilon", [0.1, 1, 4, 20])
def test_a_tally_has_about_as_many_cells_a_group_as_the_registry_says(cells: int, epsilon: float) -> None:
    channel = metric_of(TEXT | {"cells": cells, "epsilon": epsilon}).channel
    assert isinstance(channel, GroupedGeometry)
    assert cells <= 2 * channel.inputs <= 4 * cells
    assert channel.symbols == channel.inputs * len(channel.weights)


@pytest.mark.parametrize(
    ("changes", "place", "said"),
    [
        ({"letters": "aa"}, "letters", "must be a text of 2 to 255 different printable characters without '…'"),
        ({"letters": "a"}, "letters", "must be a text of 2 to 255 different"),
        ({"letters": "ab…"}, "letters", "which marks a text that was cut"),
        ({"preset": "domain"}, "preset", "cannot be combined with letters; keep one of them"),
        ({"other": "é"}, "other", "must be one of letters"),
        ({"other": "ab"}, "other", "must be a string of 1 to 1 printable characters"),
        ({"max_length": 33}, "max_length", "must be a whole number from 1 to 32"),
        ({"max_length": 2}, "max_length", 'allows so few texts that all can be listed; use kind = "category"'),
        ({"max_items": 0}, "max_items", "must be a whole number from 1 to 100"),
        ({"discover": 1}, "discover", "must be true or false"),
        ({"cells": 5000}, "cells", "must be a power of two from 4096 to 131072"),
        ({"permanent_epsilon": 5}, "permanent_epsilon", "does not apply to a text"),
        ({"fill_in": True}, "fill_in", "does not apply to a text; record an answer in every window instead"),
        ({"mechanism": "projective-geometry"}, "mechanism", "does not support a text; use one that does"),
        ({"unit": "ms"}, "unit", "is only for a number or a count; remove it"),
        ({"statistic": "mean"}, "statistic", 'belongs to kind = "'),
    ],
)
def test_what_a_text_cannot_be_is_refused_with_what_is_right(changes: dict[str, Field], place: str, said: str) -> None:
    assert said in mistakes(m=TEXT | changes)[f"metric.m.{place}"]


@pytest.mark.parametrize("key", ["letters", "max_length", "discover"])
def test_what_a_text_needs_is_asked_for(key: str) -> None:
    assert "is missing" in mistakes(m=without(TEXT, key))[f"metric.m.{key}"]


def test_an_unknown_preset_is_refused_with_the_known_ones() -> None:
    said = mistakes(m=without(TEXT, "letters") | {"preset": "domains"})["metric.m.preset"]
    assert said == 'must be one of: bytes, domain, identifier; did you mean "domain"?'


def test_bytes_need_no_letter_for_others() -> None:
    said = mistakes(m=without(TEXT, "letters") | {"preset": "bytes", "other": "-"})
    assert said == {"metric.m.other": "does not apply to bytes, which can spell every text; remove it"}


def test_a_text_is_not_crossed() -> None:
    crossed: dict[str, Field] = {"purpose": "Why?", "cross": ["a", "m"], "epsilon": 1}
    assert "must name two different metrics" in mistakes(a=BOOLEAN, m=TEXT, both=crossed)["metric.both.cross"]


def test_a_text_has_no_strata() -> None:
    text = registry_text(m=TEXT | {"strata": ["platform"]}) + '[strata]\nplatform = ["a", "b"]\n'
    with pytest.raises(
        RegistryError, match="strata: does not apply to a text: in the separate tallies of each stratum"
    ):
        Registry.parse(text)


def test_whatever_a_report_means_is_part_of_the_edition() -> None:
    changes: list[dict[str, Field]] = [
        {"letters": "abcdef"},
        {"max_length": 13},
        {"discover": False},
        {"max_items": 2},
        {"cells": 8192},
        {"other": "_"},
        {"epsilon": 3},
    ]
    editions = {metric_of(TEXT | change).edition for change in [{}, *changes]}
    assert len(editions) == len(changes) + 1
    assert metric_of(TEXT, purpose="Which?").edition == metric_of(TEXT).edition


@for_each("answer", ["größe", 5, None, b"abc", ["the"], "the\n"])
def test_an_answer_of_other_letters_is_refused_without_being_named(answer: object) -> None:
    with pytest.raises(OutsideDomainError) as caught:
        metric_of(TEXT).perturb(answer, SteadyCoins(0.5))
    assert "größe" not in str(caught.value)
    assert "a text of the letters" in str(caught.value)


def test_an_answer_of_any_letters_is_taken_where_one_stands_for_the_others() -> None:
    domain = metric_of(TEXT | {"other": "_"}).kind
    assert isinstance(domain, Text)
    assert domain.number_of("größe") == domain.number_of("gr__e")


@pytest.mark.parametrize("answer", ["the", ["a", "b", "c", "d"], ["a", "a"], ["ä"], [5]])
def test_an_answer_that_is_no_set_of_texts_is_refused(answer: object) -> None:
    with pytest.raises(OutsideDomainError, match="at most 3 different texts"):
        metric_of(TEXT | {"max_items": 3}).perturb(answer, SteadyCoins(0.5))


def test_texts_of_a_set_that_are_alike_once_cut_are_one() -> None:
    domain = metric_of(TEXT | {"max_items": 3}).kind
    assert isinstance(domain, Text)
    assert len(domain.numbers({"congratulations", "congratulation", "a"})) == 2
