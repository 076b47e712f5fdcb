"""A tally: how often each symbol was reported in one window."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

from client_sdk.protocol.window import Window
from estimator.errors import UnfitTallyError
from estimator.statistics.arrays import Counts

INT64: Final = "q"
"""The type code of arrays of counts: a large tally takes eight bytes for each count, not an
object.
"""


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each symbol was reported in one window.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits that identify what the reports mean.
        window: the window of the answers.
        closed: whether the tally can no longer change.
        reports: n, the sum of the counts.
        counts: the count of each symbol from 0, or of each of ``symbols``.
        symbols: the counted symbols, rising, if the alphabet is sparse; otherwise None.

    """

    metric: str
    edition: str
    window: Window
    closed: bool
    reports: int
    counts: Sequence[int]
    symbols: Sequence[int] | None = None

    def dense(self, symbols: int) -> Counts:
        """Return the count of each of the symbols 0..symbols-1, shape (symbols,).

        Raises:
            UnfitTallyError: if the tally has another alphabet.

        """
        self.check(symbols)
        if self.symbols is None:
            return np.array(self.counts, dtype=np.int64)
        dense = np.zeros(symbols, dtype=np.int64)
        places, counts = self.counted()
        dense[places] = counts
        return dense

    def counted(self) -> tuple[Counts, Counts]:
        """Return the counted symbols, rising, and their counts."""
        counts = np.array(self.counts, dtype=np.int64)
        return np.arange(counts.size) if self.symbols is None else np.array(self.symbols, dtype=np.int64), counts

    def check(self, symbols: int) -> None:
        """Refuse a tally of another alphabet than 0..symbols-1.

        Raises:
            UnfitTallyError: saying how it differs.

        """
        if self.symbols is None and len(self.counts) != symbols:
            raise UnfitTallyError(f"it has {len(self.counts)} counts where the channel has {symbols} symbols")
        if self.symbols and self.symbols[-1] >= symbols:
            raise UnfitTallyError(f"it has symbol {self.symbols[-1]} where the channel has {symbols} symbols")
