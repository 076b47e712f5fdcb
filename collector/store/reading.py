"""Reads whose answers stay true, whichever servers are lost afterwards.

A master that was cut off answers for a while before it knows, and a lone master may hold what no
replica has. What it answered may be lost with it. So a reader lets the same servers make a write,
over the same connections, and waits until their replicas have it. Then they also have everything
that came before it, including what was read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from collector.errors import StoreUnavailableError
from collector.redis_servers.command import PackedCommand
from collector.redis_servers.connection import Connection
from collector.redis_servers.router import Router
from collector.redis_servers.server import Address
from collector.store import keys


class Reading:
    """Questions to a store that are confirmed together.

    An answer counts only once `confirm` has returned.
    """

    def __init__(self, router: Router) -> None:
        """Take what finds the servers."""
        self._router = router
        self._answered: dict[tuple[Address, Connection], set[str]] = {}

    def ask(self, request: PackedCommand) -> Any:  # noqa: ANN401 as redis answers
        """Send one command and return its answer.

        Raises:
            StoreUnavailableError: if there is none.

        """
        (answer,) = self.ask_all((request,))
        if isinstance(answer, StoreUnavailableError):
            raise answer
        return answer

    def ask_all(self, requests: Sequence[PackedCommand]) -> list[Any]:
        """Send commands and return their answers or StoreUnavailableErrors in order; see Router."""
        return self._router.ask_all(requests, self._answered)

    def confirm(self) -> None:
        """Make sure that no failover takes back what was answered.

        Raises:
            StoreUnavailableError: if a connection over which a server answered is gone, or its
                replicas do not have the answer in time.

        """
        for (address, connection), tags in self._answered.items():
            self._router.confirm(address, connection, sorted(tags), keys.READ)
