"""The two sources of coins on a device: the operating system, and a pseudo-random function of the device's secret.

`SystemCoins` are fresh for every single decision. Nothing is buffered and nothing is seeded, so that neither a fork nor
a snapshot of a virtual machine can make two devices toss the same coins.

`PrfCoins` are tossed once for all. Their key is HMAC-SHA-256 of the secret over a label and its arguments, each with
its length before it, so that no two purposes ever share a coin. The coins are what the key makes of 0, 1, 2, … (as
HKDF expands a key, RFC 5869, section 2.3, with a wider counter).
"""

from __future__ import annotations

import hmac
import struct
from os import urandom

from client_sdk.protocol.channel import COIN_SCALE
from client_sdk.protocol.mechanisms import permanent

_COIN_BYTES = 8


class SystemCoins:
    """`client_sdk.protocol.channel.Coins` from ``os.urandom``; without state, so any thread and process may share it."""

    __slots__ = ()

    def bernoulli(self, numerator: int) -> bool:
        """Return true with probability numerator / 2**64, for a numerator from 0 to 2**64."""
        return int.from_bytes(urandom(_COIN_BYTES), "big") < numerator

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2**64.

        Draws above the largest multiple of the bound are rejected: taking them modulo the bound would favour the low
        integers.
        """
        unbiased = COIN_SCALE - COIN_SCALE % bound
        while True:
            drawn = int.from_bytes(urandom(_COIN_BYTES), "big")
            if drawn < unbiased:
                return drawn % bound


SCHEME = "hearsay prf 1"
"""What the coins are made for; another version of the scheme makes others."""

PERMANENT, OFFSET, TAG, PARTICIPATION = permanent.PERMANENT, permanent.OFFSET, "charged value", "participation"
"""What coins and tags are used for."""

_WORD_BYTES = 8


def derive(secret: bytes, *labels: str) -> bytes:
    """Return 32 bytes that depend on the secret and on every label; without the secret they look random."""
    encoded = [label.encode() for label in (SCHEME, *labels)]
    message = b"".join(struct.pack(">Q", len(label)) + label for label in encoded)
    return hmac.digest(secret, message, "sha256")


class PrfCoins:
    """`client_sdk.protocol.channel.Coins` that fall the same way whenever they are tossed for the same labels."""

    __slots__ = ("_key", "_tossed")

    def __init__(self, secret: bytes, *labels: str) -> None:
        """Take the coins of some labels."""
        self._key = derive(secret, *labels)
        self._tossed = 0

    def bernoulli(self, numerator: int) -> bool:
        """Return true with probability numerator / 2**64, for a numerator from 0 to 2**64."""
        return self._word() < numerator

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2**64; as `SystemCoins.below`."""
        unbiased = COIN_SCALE - COIN_SCALE % bound
        while (drawn := self._word()) >= unbiased:
            pass
        return drawn % bound

    def _word(self) -> int:
        word = hmac.digest(self._key, struct.pack(">Q", self._tossed), "sha256")[:_WORD_BYTES]
        self._tossed += 1
        return int.from_bytes(word, "big")
