"""The integers of many texts, in limbs.

They have more bits than a machine's numbers, and one by one they take seconds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from client_sdk.protocol.texts.groups import LIMB_BITS, MODULUS, Group
from client_sdk.protocol.texts.text import Text
from estimator.statistics.arrays import Counts


@dataclass(frozen=True, slots=True, eq=False)
class TextNumbers:
    """The integers of texts, or of prefixes that nothing follows.

    Attributes:
        domain: the question, which says how many bits they have.
        limbs: `LIMB_BITS` bits each, the lowest first, then zeros, so that bits may begin in any
            limb and end in the next one, shape (limbs, texts).

    """

    kind: Text
    limbs: Counts

    @classmethod
    def of(cls, domain: Text, numbers: Sequence[int]) -> TextNumbers:
        """Divide integers into limbs."""
        limb = (1 << LIMB_BITS) - 1
        starts = range(0, domain.bits + LIMB_BITS + 1, LIMB_BITS)
        limbs = [[number >> start & limb for number in numbers] for start in starts]
        return cls(domain, np.array(limbs, dtype=np.int64))

    def integers(self, places: Sequence[int]) -> list[int]:
        """Return the integers at some places."""
        return [
            sum(limb << LIMB_BITS * place for place, limb in enumerate(limbs))
            for limbs in self.limbs[:, places].T.tolist()
        ]

    def bits(self, start: int, width: int) -> Counts:
        """Return ``width`` bits of each, at most `LIMB_BITS`; ``start`` lower ones are left out."""
        place, inside = divmod(start, LIMB_BITS)
        both: Counts = self.limbs[place] >> inside | self.limbs[place + 1] << LIMB_BITS - inside
        return both & (1 << width) - 1

    def hashed(self, group: Group) -> Counts:
        """Return what `Group.hashed` says of the leading bits that a group hears."""
        total, *multipliers = group.multipliers
        first = self.kind.bits - group.bits
        sums = np.full(self.limbs.shape[1], total)
        for limb, multiplier in enumerate(multipliers):
            sums += self.bits(first + LIMB_BITS * limb, LIMB_BITS) * multiplier % MODULUS
        return sums % MODULUS

    def bits_to_end(self) -> Counts:
        """Return how many leading bits tell each whole text: those of letters and end."""
        of_letter = self.kind.letter_bits
        starts = range(0, self.kind.bits, of_letter)
        letters = sum((self.bits(start, of_letter) > 0 for start in starts), np.zeros(self.limbs.shape[1], np.int64))
        return np.minimum(self.kind.bits, (letters + 1) * of_letter)

    def continued(self, places: NDArray[np.int64], bits: Counts, start: int) -> TextNumbers:
        """Return those at ``places``, with bits in place of the zeros from ``start`` on.

        Args:
            places: which numbers.
            bits: what is put into each of them, at most `LIMB_BITS` bits.
            start: the place of the lowest of these bits.

        """
        limbs, (place, inside) = self.limbs[:, places], divmod(start, LIMB_BITS)
        added = bits << inside
        limbs[place] |= added & (1 << LIMB_BITS) - 1
        limbs[place + 1] |= added >> LIMB_BITS
        return TextNumbers(self.kind, limbs)
