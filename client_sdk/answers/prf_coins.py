"""Derives pseudo-random choices (*coins*) from the device's secret and from labels.

The labels identify the use of the coins, for example by naming a window and a metric. Equal labels
give equal coins. Coins are derived in two steps:

* The key is the HMAC-SHA-256 of all labels, keyed with the device's secret. Each label is preceded
  by its length, so that ("ab", "c") and ("a", "bc") give different keys.
* Coin number n = 0, 1, 2, … is taken from the HMAC-SHA-256 of n, keyed with this key.

HKDF expands a key in a similar way, but with a shorter counter (RFC 5869, section 2.3).
"""

from __future__ import annotations

import hmac
import struct

from client_sdk.protocol.channel import COIN_SCALE

SCHEME = "hearsay prf 1"
"""The first label of all pseudo-random coins. A new version of this scheme gets a new label."""

PARTICIPATION = "participation"
"""The label of the coins that choose the windows and metrics of a device."""

_WORD_BYTES = 8


def derive(secret: bytes, *labels: str) -> bytes:
    """Return 32 bytes from a secret and labels. Nobody can predict the bytes without the secret."""
    encoded = [label.encode() for label in (SCHEME, *labels)]
    message = b"".join(struct.pack(">Q", len(label)) + label for label in encoded)
    return hmac.digest(secret, message, "sha256")


class PrfCoins:
    """`client_sdk.protocol.channel.Coins` that depend only on the secret and the labels."""

    __slots__ = ("_key", "_tossed")

    def __init__(self, secret: bytes, *labels: str) -> None:
        """Derive the key of these coins from the secret and the labels."""
        self._key = derive(secret, *labels)
        self._tossed = 0

    def bernoulli(self, numerator: int) -> bool:
        """Return true with probability numerator / 2**64, for a numerator from 0 to 2**64."""
        return self._word() < numerator

    def below(self, bound: int) -> int:
        """Return a uniform integer from 0 to bound - 1, for a bound from 1 to 2**64."""
        unbiased = COIN_SCALE - COIN_SCALE % bound
        while (drawn := self._word()) >= unbiased:
            pass
        return drawn % bound

    def _word(self) -> int:
        word = hmac.digest(self._key, struct.pack(">Q", self._tossed), "sha256")[:_WORD_BYTES]
        self._tossed += 1
        return int.from_bytes(word, "big")
