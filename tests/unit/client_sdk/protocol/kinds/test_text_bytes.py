"""Texts of any characters, spelled by bytes of UTF-8: what is heard of them, how they are shown."""

from __future__ import annotations

import numpy as np
import pytest

from client_sdk.protocol import OutsideDomainError
from client_sdk.protocol.text import BYTES, Text
from tests.support.core.tables import for_each
from tests.support.devices.definitions import TEXT, metric_of, without
from tests.support.laws.coins import SteadyCoins

LENGTH = 6
DOMAIN = Text(BYTES, LENGTH)


def shown(raw: bytes) -> str:
    return DOMAIN.label_of(int.from_bytes(raw.ljust(LENGTH, b"\0"), "big"))


@for_each("text", ["", "a", "größe", "日本", "👍🏽", " ", "a\nb"])
def test_a_text_is_the_number_of_its_bytes(text: str) -> None:
    raw = text.encode()[:LENGTH]
    assert DOMAIN.number_of(text) == int.from_bytes(raw.ljust(LENGTH, b"\0"), "big")


@pytest.mark.parametrize(
    ("text", "label"),
    [
        *(("", ""), ("größe"[:4], "größ…"), ("日", "日"), ("日本", "日本…"), ("日本語", "日本…")),
        *(("abcdeé", "abcde\\xc3…"), ("abcdeö", "abcde\\xc3…"), ("abcd日", "abcd\\xe6\\x97…"), ("a\nb", "a\\u{a}b")),
        *(("\x1b[2J", "\\u{1b}[2J"), ("a\u202eb", "a\\u{202e}b"), ("C:\\x", "C:\\\\x"), ("a…", "a\\u{2026}")),
    ],
)
def test_a_text_is_shown_on_one_line_and_a_character_that_was_cut_as_its_bytes(text: str, label: str) -> None:
    assert DOMAIN.label_of(DOMAIN.number_of(text)) == label


def test_no_two_texts_look_alike() -> None:
    pieces = [
        b"\x80",
        "\x80".encode(),
        "…".encode(),
        b"\\",
        b"x80",
        b"u",
        b"\xc3",
        b"a",
        "é".encode(),
        b"\n",
        b"\xed\xb2\x80",
    ]
    drawn = np.random.default_rng(1).integers(len(pieces), size=(3000, 4)).tolist()
    texts = {b"".join(pieces[place] for place in places)[:LENGTH] for places in drawn}
    assert len({shown(raw) for raw in texts}) == len(texts) > 500
    assert all(shown(raw).isprintable() for raw in texts)


@pytest.mark.parametrize("answer", ["secret\0", "\0", "\ud800secret", 5, b"secret"])
def test_what_has_no_bytes_is_refused_without_being_named(answer: object) -> None:
    metric = metric_of(without(TEXT, "letters") | {"preset": "bytes"})
    with pytest.raises(OutsideDomainError, match="a text of characters other than NUL") as caught:
        metric.perturb(answer, SteadyCoins(0.5))
    assert "secret" not in str(caught.value)
    assert metric.edition != metric_of(TEXT).edition


def test_the_extremes_of_a_text_are_the_shortest_the_longest_and_the_first_and_last_letter() -> None:
    assert [answer.value for answer in Text("abc", 3).extremes()] == ["", "a", "aaa", "c"]


def test_a_cell_of_a_table_holds_what_is_expected_of_an_answer() -> None:
    assert Text("abc", 3).expected_in_cell == Text("abc", 3).expected
