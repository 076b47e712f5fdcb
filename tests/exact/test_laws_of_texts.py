"""An unlisted text: the whole channel from every text to the symbol, by enumerating all coins."""

from __future__ import annotations

from collections import Counter
from functools import partial
from itertools import combinations, product

import pytest

from client_sdk.protocol.mechanisms.grouped_geometry import geometry_for
from client_sdk.protocol.text import Text
from tests.support.core.tables import for_each
from tests.support.laws.bands import request
from tests.support.laws.law_checks import refuses
from tests.support.laws.text_checks import (
    CELLS,
    TEXT_CHECKS,
    TEXT_MUTANTS,
    TEXTS,
    TextCheck,
    TextSubject,
    right_report,
    toy,
)


@for_each("discover", [True, False])
@for_each("check", TEXT_CHECKS)
def test_a_report_of_a_text_obeys_every_law(check: TextCheck, *, discover: bool) -> None:
    check(TextSubject(toy(discover=discover), right_report))


@for_each("mutant", TEXT_MUTANTS)
def test_every_wrong_report_of_a_text_is_refused(mutant: str) -> None:
    subject = TextSubject(toy(), TEXT_MUTANTS[mutant])
    assert any(refuses(partial(check, subject)) for check in TEXT_CHECKS)


@pytest.mark.parametrize("check", TEXT_CHECKS, ids=lambda check: check.__name__)
def test_every_check_refuses_a_wrong_report_of_a_text(check: TextCheck) -> None:
    assert any(refuses(partial(check, TextSubject(toy(), report))) for report in TEXT_MUTANTS.values())


def test_groups_that_receive_the_same_bits_have_hashes_of_their_own() -> None:
    domain = Text("abcdefg", 6)
    groups = domain.groups(2**16)
    assert len({group.multipliers for group in groups}) == len(groups)
    cells = [domain.cells_of(number, 2**16) for number in range(0, 2**18, 7)]
    assert groups[0].bits < groups[1].bits == groups[2].bits == groups[3].bits
    for first, second in combinations(range(1, 4), 2):
        alike = sum(of_text[first] == of_text[second] for of_text in cells)
        assert alike < 10  # of 37,450 texts, of which one in 65,536 has the same cell by chance


@pytest.mark.parametrize("letters", ["ab", "abc", "abcdefg", "abcdefgh"])
def test_different_texts_have_different_integers_that_give_them_back(letters: str) -> None:
    domain = Text(letters, 3)
    texts = ["".join(letters_of) for size in range(4) for letters_of in product(letters, repeat=size)]
    numbers = [domain.number_of(text) for text in texts]
    assert len(set(numbers)) == len(set(texts))
    assert [domain.text_of(number) for number in numbers] == texts
    assert all(number < 2**domain.bits for number in numbers)


def test_a_longer_text_is_its_beginning() -> None:
    domain = Text("ab", 3)
    assert domain.number_of("abab") == domain.number_of("aba")


def test_a_cell_holds_about_as_many_texts_as_any_other() -> None:
    domain = Text("abcdefgh", 4)
    for place in range(1, len(domain.groups(CELLS))):
        in_cells = Counter(domain.cells_of(number, CELLS)[place] for number in range(0, 2**16, 2**6))
        assert set(in_cells) == set(range(CELLS))


@pytest.mark.parametrize(
    ("epsilon", "cells", "prime", "dimension", "points"),
    [
        *(("1", 2**17, 3, 11, 88_573), ("2", 2**17, 7, 7, 137_257), ("4", 2**17, 53, 4, 151_740)),
        *(("4", 2**14, 97, 3, 9_507), ("20", 2**12, 89, 3, 8_011)),
    ],
)
def test_the_geometry_follows_from_epsilon_and_the_cells(
    epsilon: str, cells: int, prime: int, dimension: int, points: int
) -> None:
    assert geometry_for(request(epsilon).odds, cells) == (prime, dimension, points)
    assert cells <= 2 * points <= 4 * cells


def test_the_groups_of_sixteen_letters_have_the_documented_weights() -> None:
    groups = Text("abcdefghijklmnopqrstuvwxyz'-.,_", 16).groups(137_257)
    assert [group.bits for group in groups] == [17, 27, 37, 47, 57, 67, 77, 80, 80, 80]
    assert [group.weight for group in groups] == [8, 8, 8, 4, 4, 4, 4, 4, 3, 3]


def test_fewer_cells_make_smaller_steps() -> None:
    groups = Text("abcdefghijklmnopqrstuvwxyz'-.,_", 6).groups(3541)
    assert [group.bits for group in groups] == [11, 15, 19, 23, 27, 30, 30, 30]
    assert [group.weight for group in groups] == [8, 8, 8, 8, 8, 8, 6, 6]


def test_the_toy_enumerates_every_text() -> None:
    assert len(TEXTS) == len(set(TEXTS)) == 15
