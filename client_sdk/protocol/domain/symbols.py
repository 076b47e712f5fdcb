"""What most domains share: their inputs are the symbols of a channel, numbered from 0."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from client_sdk.protocol.coins import Coins


class Symbols:
    """A domain whose inputs are the integers below a channel's number of them."""

    __slots__ = ()

    def draw(self, inputs: int, coins: Coins) -> int:
        """Return an input drawn uniformly from all of them, in place of an invalid answer."""
        return coins.below(inputs)
