"""A pseudo-random function as it looks without its secret: coins that stay with labels."""

from __future__ import annotations

from client_sdk.protocol.coins import COIN_SCALE, Coins
from estimator.errors import AuditError


class IdealFunction:
    """Coins that depend on labels: equal labels give equal coins, others independent ones.

    As in the device they are words of 64 bits. So two coins of one word are coupled as they are
    there: a coin that is true for a numerator is true for every greater one.
    """

    def __init__(self, coins: Coins) -> None:
        """Take the fresh coins from which each word is drawn when it is first needed."""
        self._coins = coins
        self._words: dict[tuple[str | int, ...], tuple[int, int]] = {}

    def __call__(self, *labels: str) -> _LabelledCoins:
        """Return the coins of labels."""
        return _LabelledCoins(self, labels)

    def word(self, place: tuple[str | int, ...], bound: int) -> int:
        """Return the integer below a bound at a place.

        Raises:
            AuditError: if the place was used with another bound.

        """
        if place not in self._words:
            self._words[place] = bound, self._coins.below(bound)
        first_bound, word = self._words[place]
        if first_bound != bound:
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
