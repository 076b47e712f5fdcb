"""How a prefix of a text can go on: the next bits of its letters that can begin a text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.texts.text import Text
from estimator.statistics.arrays import Counts


@dataclass(frozen=True, slots=True, eq=False)
class Continuations:
    """The next bits of a prefix that has not ended.

    Attributes:
        bits: the patterns that can follow, rising.
        ended: of each, whether the text has ended with it.

    """

    bits: Counts
    ended: NDArray[np.bool_]

    @classmethod
    def of(cls, domain: Text, begun: int, begun_bits: int, step: int) -> Continuations:
        """Return the patterns of ``step`` bits.

        Args:
            domain: the question.
            begun: the bits of the letter in which the prefix ends, if it ends within one.
            begun_bits: how many they are.
            step: how many bits follow.

        """
        patterns = np.arange(1 << step, dtype=np.int64)
        letters, left = (begun << step) + patterns, begun_bits + step
        possible, ended = np.ones(patterns.size, dtype=bool), np.zeros(patterns.size, dtype=bool)
        while left >= domain.letter_bits:
            left -= domain.letter_bits
            code = letters >> left & (1 << domain.letter_bits) - 1
            possible &= (code <= len(domain.letters)) & ~(ended & (code > 0))
            ended |= code == 0
        begun_letter = (letters & (1 << left) - 1) << domain.letter_bits - left  # the lowest code that begins so
        possible &= (begun_letter <= len(domain.letters)) & ~(ended & (begun_letter > 0))
        return cls(patterns[possible], ended[possible])
