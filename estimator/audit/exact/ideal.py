"""What a pseudo-random function looks like without its secret: fresh coins for each label, and those for good."""

from __future__ import annotations

from client_sdk.protocol import COIN_SCALE, Coins
from estimator.errors import AuditError


class IdealFunction:
    """Coins of labels: those of the same labels fall the same way, those of others are independent.

    As the device's own they are words of 64 bits, so that two coins of one word are coupled as they are there: what is
    true below a numerator is true below a greater one.
    """

    def __init__(self, coins: Coins) -> None:
        """Take the fresh coins that words are made of when they are first asked for."""
        self._coins = coins
        self._words: dict[tuple[str | int, ...], tuple[int, int]] = {}

    def __call__(self, *labels: str) -> _LabelledCoins:
        """Return the coins of some labels."""
        return _LabelledCoins(self, labels)

    def word(self, place: tuple[str | int, ...], bound: int) -> int:
        """Return the integer at a place, below a bound."""
        if place not in self._words:
            self._words[place] = bound, self._coins.below(bound)
        asked, word = self._words[place]
        if asked != bound:
            raise AuditError("the SDK cannot be walked: it asks one pseudo-random word for two things")
        return word


class _LabelledCoins:
    def __init__(self, function: IdealFunction, labels: tuple[str, ...]) -> None:
        self._function = function
        self._labels = labels
        self._tossed = 0

    def bernoulli(self, numerator: int) -> bool:
        return self.below(COIN_SCALE) < numerator

    def below(self, bound: int) -> int:
        self._tossed += 1
        return self._function.word((*self._labels, self._tossed), bound)
