"""Random choices (*coins*) from the operating system, drawn anew each time.

Nothing is buffered or seeded. Otherwise, two processes could get the same coins after a fork, and
so could two copies of a virtual machine.
"""

from __future__ import annotations

from os import urandom

from client_sdk.protocol.channel import COIN_SCALE

_WORD_BYTES = 8


class SystemCoins:
    """`client_sdk.protocol.channel.Coins` that are drawn from ``os.urandom``."""

    __slots__ = ()

    def bernoulli(self, numerator: int) -> bool:
        """Return true with probability numerator / 2**64, for a numerator from 0 to 2**64."""
        return int.from_bytes(urandom(_WORD_BYTES), "big") < numerator

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2**64.

        The integer is the remainder of a 64-bit number. Let m be the largest multiple of ``bound``
        up to 2**64. A number that is not below m is drawn again, because its remainder would favor
        low integers.
        """
        unbiased = COIN_SCALE - COIN_SCALE % bound
        while True:
            drawn = int.from_bytes(urandom(_WORD_BYTES), "big")
            if drawn < unbiased:
                return drawn % bound
