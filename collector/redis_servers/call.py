"""The progress of one call of the router: what is answered, what to send again, who failed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from collector.redis_servers.command import PackedCommand
from collector.redis_servers.connection import Connection
from collector.redis_servers.pipeline import Sent
from collector.redis_servers.server import Address

Answered: TypeAlias = dict[tuple[Address, Connection], set[str]]
"""Who has answered, over which connection, and the tags that this was about."""


class Call:
    """The progress of one call.

    Attributes:
        requests: the requests of the call.
        answered: the servers that answered, their connections, and the tags they answered about.
        answers: for each request, the answer or error so far.
        pending: indexes of the requests to send in the next round.
        asking: for some pending requests, the server to which their slot is still moving.
        lost: the servers that failed, with one entry for each failure.
        lost_before: the servers that had failed before this round.
        is_moving: whether a slot was moving in this round.

    """

    def __init__(self, requests: Sequence[PackedCommand], answered: Answered) -> None:
        """Begin with everything to be sent."""
        self.requests = requests
        self.answered = answered
        self.answers: list[Any] = [None] * len(requests)
        self.pending = list(range(len(requests)))
        self.asking: dict[int, Address] = {}
        self.lost: list[Address] = []
        self.lost_before: frozenset[Address] = frozenset()
        self.is_moving = False

    def note_answered(self, address: Address, connection: Connection, batch: list[Sent]) -> None:
        """Note which server answered for which shards, except where it redirected."""
        tags = {self.requests[index].tag for index, _ in batch if not isinstance(self.answers[index], Exception)}
        if tags:
            self.answered.setdefault((address, connection), set()).update(tags)

    def begin_round(self) -> None:
        """Forget what the round before left to do."""
        self.pending = []
        self.asking = {}
        self.lost_before = frozenset(self.lost)
        self.is_moving = False
