"""All ways a text can go on, and no others: compared with all texts of a small alphabet."""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np
import pytest

from client_sdk.protocol.text import Text
from estimator.discovery.prefix_search import Continuations
from tests.support.laws.law_checks import refuses

DOMAINS = [Text("ab", 4), Text("abc", 4), Text("abcde", 3), Text("abcdefgh", 2)]
"""With one code to spare, with none, with two, and with seven."""


@cache
def prefixes(domain: Text, bits: int) -> dict[int, bool]:
    """Return the first bits of every text, and whether they hold its end."""
    texts = (
        "".join(spelled) for size in range(domain.max_length + 1) for spelled in product(domain.letters, repeat=size)
    )
    numbers = {domain.number_of(text): text for text in texts}
    return {
        number >> domain.bits - bits: (len(text) + 1) * domain.letter_bits <= bits for number, text in numbers.items()
    }


def check(domain: Text, bits: int, step: int, ways: type[Continuations]) -> None:
    """Check the continuations of all prefixes that have not ended."""
    later = prefixes(domain, bits + step)
    begun_bits = bits % domain.letter_bits
    for prefix in (prefix for prefix, has_ended in prefixes(domain, bits).items() if not has_ended):
        following = ways.following(domain, prefix & (1 << begun_bits) - 1, begun_bits, step)
        shown = {
            prefix << step | way: end
            for way, end in zip(following.bits.tolist(), following.ended.tolist(), strict=True)
        }
        assert shown == {longer: has_ended for longer, has_ended in later.items() if longer >> step == prefix}


@pytest.mark.parametrize("domain", DOMAINS, ids=lambda domain: domain.letters)
def test_the_continuations_of_a_prefix_are_those_of_all_texts(domain: Text) -> None:
    for bits in range(domain.bits):
        for step in range(1, domain.bits - bits + 1):
            check(domain, bits, step, Continuations)


class _LettersAfterTheEnd(Continuations):
    @classmethod
    def following(cls, domain: Text, begun: int, begun_bits: int, step: int) -> Continuations:
        right = Continuations.following(domain, begun, begun_bits, step)
        return cls(np.arange(1 << step), np.isin(np.arange(1 << step), right.bits[right.ended]))


class _AnyCode(Continuations):
    @classmethod
    def following(cls, domain: Text, begun: int, begun_bits: int, step: int) -> Continuations:
        full = Text("".join(map(chr, range(2**domain.letter_bits - 1))), domain.max_length)
        return Continuations.following(full, begun, begun_bits, step)


class _NeverEnding(Continuations):
    @classmethod
    def following(cls, domain: Text, begun: int, begun_bits: int, step: int) -> Continuations:
        right = Continuations.following(domain, begun, begun_bits, step)
        return cls(right.bits, np.zeros_like(right.ended))


@pytest.mark.parametrize("mutant", [_LettersAfterTheEnd, _AnyCode, _NeverEnding])
def test_wrong_continuations_are_refused(mutant: type[Continuations]) -> None:
    assert refuses(lambda: check(Text("abcde", 3), 3, 4, mutant))
