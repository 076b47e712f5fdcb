"""What a mechanism is to a registry: one row of a table, and a request for its channel."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from importlib import import_module
from typing import TYPE_CHECKING, NamedTuple, cast

from client_sdk.protocol.channel import Channel
from client_sdk.protocol.kinds.kind import MAX_CATEGORIES, Kind
from client_sdk.protocol.requested_epsilon import RequestedEpsilon

if TYPE_CHECKING:
    from client_sdk.protocol.kinds.grid import Grid

Utility = Sequence[Sequence[Fraction]]
"""A square table: how useful it is to report the column's value when the row's value is true."""


class ChannelRequest(NamedTuple):
    """What a question requires of a mechanism.

    Attributes:
        kind: what may be answered.
        epsilon: the most that a report may cost.
        has_no_answer: whether there is an input for no answer.
        delta: that of a mechanism which has one; otherwise None.
        utility: of each reported value for each true value, for a mechanism that takes it from the
            registry; otherwise None.

    """

    kind: Kind
    epsilon: RequestedEpsilon
    has_no_answer: bool = False
    delta: Fraction | None = None
    utility: Utility | None = None

    @property
    def shapes(self) -> tuple[str, ...]:
        """For which families of mechanisms the inputs are fit."""
        return ("labels",) if self.has_no_answer else self.kind.shapes

    @property
    def size(self) -> int:
        """The number of inputs, each of which stands for one answer.

        Raises:
            ValueError: if they are too many, or do not stand for answers.

        """
        size = self.kind.size
        if size is None:
            raise ValueError(self.kind.unshared)
        if size > MAX_CATEGORIES:
            raise ValueError(f"has no channel for {size} shares; {MAX_CATEGORIES} are the most")
        return size + self.has_no_answer

    def points(self, most: int) -> int:
        """Return the number of points of a grid that may have up to ``most``."""
        return cast("Grid", self.kind).points(most)  # mechanisms of no other kinds ask


class Mechanism(NamedTuple):
    """A mechanism that a registry may name.

    Attributes:
        name: its name.
        builder: ``module:class`` of a channel that has a class method ``build``. It is imported
            when the mechanism is needed, so that a device loads only those of its registry.
        shape: the inputs that it takes, one of the `Kind.shapes`.
        statistics: what can be estimated of numbers; empty for others.
        options: the keys of a question that it takes.
        is_permanent: whether it can report permanent answers. Its inputs are answers, or the two
            ends of a range, to one of which a number is rounded for good.

    """

    name: str
    builder: str
    shape: str
    statistics: tuple[str, ...] = ()
    options: frozenset[str] = frozenset()
    is_permanent: bool = False

    def takes(self, request: ChannelRequest) -> bool:
        """Whether the mechanism is for a kind, whatever of it is estimated."""
        return self.shape in request.shapes and self.is_open_to(request.kind)

    def is_open_to(self, kind: Kind) -> bool:
        """Whether a kind may have the mechanism's options, and ask for one of its statistics."""
        may_ask = not self.statistics or bool({*self.statistics} & {*kind.statistics})
        return may_ask and not self.options & kind.refused.keys()

    def build(self, request: ChannelRequest) -> Channel:
        """Return the channel of a request.

        Raises:
            ValueError: if there is none; the message says what would be right.

        """
        module, _, name = self.builder.partition(":")
        channel: Channel = getattr(import_module(module), name).build(request)
        return channel
