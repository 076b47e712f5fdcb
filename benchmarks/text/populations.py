"""Populations of strings. All populations are generated. None contains texts of real users."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from benchmarks.text.corpus import word_counts
from estimator.statistics.arrays import Counts, Floats

LETTERS: Final = "abcdefghijklmnopqrstuvwxyz'-._/"
"""The 31 letters of generated strings. With a mark for the end, there are 32 = 2**5 characters."""

SHORTEST: Final = 4
LONGEST: Final = 16
STRINGS: Final = 10**5
EXPONENT: Final = 1.1


@dataclass(frozen=True, slots=True)
class Population:
    """Strings that devices may have.

    Attributes:
        strings: all strings of the devices, the most frequent first.
        shares: the share of each string, in falling order, with sum 1, shape (strings,).

    """

    name: str
    max_length: int
    strings: tuple[str, ...]
    shares: Floats

    def drawn(self, devices: int, generator: np.random.Generator) -> Counts:
        """Return the number of devices with each string in a random sample."""
        counts: Counts = generator.multinomial(devices, self.shares)
        return counts


def random_strings(number: int = STRINGS, longest: int = LONGEST, seed: int = 1) -> Population:
    """Return strings that share no prefixes, the worst case of a search by prefixes.

    Lengths and letters have a uniform distribution, and shares have a Zipf distribution.
    """
    generator, strings = np.random.default_rng(seed), dict[str, None]()
    while len(strings) < number:
        codes = generator.integers(len(LETTERS), size=(number, longest)).tolist()
        lengths = generator.integers(SHORTEST, longest + 1, size=number).tolist()
        spelled = ("".join([LETTERS[code] for code in row]) for row in codes)
        strings |= dict.fromkeys(letters[:length] for letters, length in zip(spelled, lengths, strict=True))
    weights = np.arange(1, number + 1) ** -EXPONENT
    return Population(
        f"random, {SHORTEST} to {longest} letters", longest, tuple(strings)[:number], weights / weights.sum()
    )


def natural_words() -> Population:
    """Return the words of 4 to 16 letters in Jane Austen's novels.

    The share of a word is its frequency in the novels.
    """
    words = {word: count for word, count in word_counts().items() if SHORTEST <= len(word) <= LONGEST}
    return _by_counts(f"words, {SHORTEST} to {LONGEST} letters", LONGEST, words)


def beginnings(length: int) -> Population:
    """Return the words of `natural_words`, cut to their first letters.

    Other libraries can find only short strings.
    """
    counts: dict[str, int] = {}
    for word, count in word_counts().items():
        if len(word) >= SHORTEST and word.isalpha():
            counts[word[:length]] = counts.get(word[:length], 0) + count
    return _by_counts(f"beginnings of words, {SHORTEST} to {length} letters", length, counts)


def _by_counts(name: str, max_length: int, counts: dict[str, int]) -> Population:
    strings = sorted(counts, key=lambda string: (-counts[string], string))
    weights = np.array([counts[string] for string in strings], float)
    return Population(name, max_length, tuple(strings), weights / weights.sum())
