"""Of many texts at once the same is said as of each."""

from __future__ import annotations

import numpy as np
import pytest

from client_sdk.protocol.text import BYTES, MAX_TEXT_LENGTH, Text
from estimator.discovery.prefix_search import TextNumbers

LOWER = "abcdefghijklmnopqrstuvwxyz"
DOMAINS = [
    Text(letters, length)
    for letters, length in ((LOWER, 12), (LOWER, 6), (LOWER, 7), ("ab", 3), (BYTES, MAX_TEXT_LENGTH))
]
"""Of 60, 30, 35, 6 and 256 bits: whole limbs, and part of the last one."""

CELLS = 2**13


def numbers_of(domain: Text) -> list[int]:
    """Return texts of every length."""
    random = np.random.default_rng(1)
    lengths = random.integers(domain.max_length + 1, size=200)
    return [domain.number_of("".join(random.choice(list(domain.letters), size=length))) for length in lengths]


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: f"{domain.bits} bits")
def test_cells_and_ends_are_those_of_each(domain: Text) -> None:
    numbers = numbers_of(domain)
    many = TextNumbers.from_numbers(domain, numbers)
    cells = [(many.hashed(group) % CELLS).tolist() for group in domain.groups(CELLS)]
    assert list(zip(*cells, strict=True)) == [domain.cells_of(number, CELLS) for number in numbers]
    lengths = [len(domain.text_of(number)) for number in numbers]
    assert many.bits_to_end().tolist() == [min(domain.bits, (each + 1) * domain.letter_bits) for each in lengths]
    assert many.integers(range(len(numbers))) == numbers


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: f"{domain.bits} bits")
def test_prefixes_go_on_as_their_integers_do(domain: Text) -> None:
    numbers, places = numbers_of(domain), np.array([7, 0, 7])
    for start in range(domain.bits):
        width = min(10, domain.bits - start)
        prefixes = [number >> start + width << start + width for number in numbers]
        bits = np.array([numbers[place] >> start & (1 << width) - 1 for place in (1, 2, 3)])
        many = TextNumbers.from_numbers(domain, prefixes).continued(places, bits, start)
        expected = [prefixes[place] | int(added) << start for place, added in zip(places, bits, strict=True)]
        assert many.integers(range(3)) == expected
        assert many.bits(start, width).tolist() == bits.tolist()


def test_nothing_is_known_of_a_text_from_its_first_bit_on() -> None:
    assert TextNumbers.from_numbers(DOMAINS[0], [0]).bits(DOMAINS[0].bits, 0).tolist() == [0]


def test_of_no_texts_there_is_nothing() -> None:
    none = TextNumbers.from_numbers(DOMAINS[0], [])
    assert none.bits_to_end().tolist() == none.hashed(DOMAINS[0].groups(CELLS)[0]).tolist() == []
