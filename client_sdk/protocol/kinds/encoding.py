"""The base class of kinds whose shape is ``labels``: each answer is one input of a channel."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

from client_sdk.protocol.channel import Coins
from client_sdk.protocol.kinds.kind import Fill, Kind, Label, Law
from client_sdk.protocol.kinds.words import either, said
from client_sdk.protocol.sentences import Sentences
from client_sdk.protocol.toml_table import TomlTable

if TYPE_CHECKING:
    from client_sdk.protocol.channel import Channel


class Labels(Kind):
    """A kind in which each answer is one input of the channel: input i is ``labels[i]``."""

    __slots__ = ()

    shapes: ClassVar[tuple[str, ...]] = ("labels",)

    @property
    def size(self) -> int:
        """The number of answers, k."""
        return len(self.labels)

    @abstractmethod
    def symbol(self, answer: object) -> int:
        """Return the channel's input for an answer."""

    def encode(self, answer: object, inputs: int, coins: Coins) -> int:  # noqa: ARG002 used by kinds of other shapes
        """Return the channel's input for an answer, without drawing a coin."""
        return self.symbol(answer)

    def law(self, answer: object, inputs: int) -> Law:  # noqa: ARG002 used by kinds of other shapes
        """Map the only possible input for an answer to its probability, which is 1."""
        return {self.symbol(answer): Fraction(1)}

    @property
    def answers(self) -> Sequence[object]:
        """One answer for each input, in the order of the inputs."""
        return self.labels

    def fill(self, table: TomlTable, value: Fraction | None) -> Fill | None:  # noqa: ARG002 used by kinds of numbers
        """Return a `Fill` that means "no answer".

        "No answer" is an additional input of the channel.
        """
        return Fill(None)

    def reported(self, channel: Channel, symbol: int, labels: Sequence[Label], say: Sentences) -> str:
        """Return the most likely answers for a symbol, in words."""
        return either((said(labels[each], say) for each in channel.likeliest(symbol)), say)
