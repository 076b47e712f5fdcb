"""Sends commands to the servers that hold their keys: one server, or the nodes of a cluster.

Where keys live is learned from the cluster's own redirections, and forgotten when a node is lost. While a slot moves,
its commands are tried again for about a second; then, and while a node is down, they alone fail.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import TimeoutError as RedisTimeoutError

from collector.errors import ConfigError, StoreUnavailableError
from collector.servers.command import Request
from collector.servers.connection import Connection
from collector.servers.connections import Connections
from collector.servers.pipeline import (
    Sent,
    TooFewCopiesError,
    receive,
    require_copies,
    send,
    unavailable,
    write_after_reading,
)
from collector.servers.server import Address

ROUNDS = 9
"""How often a command is sent at most: pauses while its slot moves, and redirections, are a round each."""

FIRST_PAUSE_S = 0.005
"""The first pause while a slot moves; each is twice as long as the one before, all together are about a second."""

TRIES = 2
"""How often a server is tried whose connection broke: it may have been stale."""

Answered: TypeAlias = dict[tuple[Address, Connection], set[str]]
"""Who has answered, over which connection, and the tags that this was about."""


class Router:
    """Asks the servers of a store."""

    def __init__(self, connections: Connections, copies: int) -> None:
        """Take the connections; nothing is sent before the first use.

        Args:
            connections: opens them.
            copies: how many replicas must have a write on disk before it is acknowledged.

        """
        self._connections = connections
        self._nodes: tuple[Address, ...] = ()
        self._homes: dict[str, Address] = {}
        self._copies = copies

    def learn(self, nodes: tuple[Address, ...]) -> None:
        """Take nodes of the cluster, to ask where keys live when others are lost."""
        self._nodes = nodes

    def ask(self, request: Request) -> Any:  # noqa: ANN401 as redis answers
        """Send one command and return its answer: what `ask_all` does, in few steps where all is as it was.

        Raises:
            StoreUnavailableError: if there is none.

        """
        home = self._homes.get(request.tag)
        connection = self._connections.opened(home)
        if connection is not None and not self._copies:
            try:
                connection.send(request.command)
                return connection.receive()
            except RedisTimeoutError as error:  # another wait as long would be one too many for who waits for us
                self._connections.drop(home)
                self._connections.avoid(home)
                raise unavailable(error) from error
            except RedisError as error:  # try again: a command is always safe to be sent twice
                if not isinstance(error, ResponseError):
                    self._connections.drop(home)
            except BaseException:
                self._connections.drop(home)
                raise
        (answer,) = self.ask_all((request,))
        if isinstance(answer, StoreUnavailableError):
            raise answer
        return answer

    def ask_all(self, requests: Sequence[Request], answered: Answered | None = None) -> list[Any]:
        """Send commands, all of a server in a row, and return their answers or StoreUnavailableErrors in order.

        An answer to a write means that it is on disk where, and as often as, promised.

        Args:
            requests: the commands.
            answered: is told who has answered; for `confirm`.

        """
        call = _Call(requests, {} if answered is None else answered)
        pause_s = FIRST_PAUSE_S
        for _ in range(ROUNDS):
            self._exchange(call)
            if not call.pending:
                return call.answers
            if call.is_moving:
                time.sleep(pause_s)
                pause_s *= 2
        for index in call.pending:
            call.answers[index] = StoreUnavailableError("a slot of the store is on the move; ask again later")
        return call.answers

    def confirm(self, address: Address, connection: Connection, tags: Sequence[str]) -> None:
        """Wait until every replica that could take over from a server has what it answered.

        Args:
            address: the server.
            connection: over which it answered.
            tags: what it answered about.

        Raises:
            StoreUnavailableError: if the connection is not there any more, or replicas do not have it in time.

        """
        if not self._connections.is_replicated:
            return
        if self._connections.opened(address) is not connection:
            raise StoreUnavailableError("a connection to the store broke while it was read; ask again")
        try:
            tag = write_after_reading(connection, tags)
            require_copies(connection, self._connections.replicas_to_confirm(connection, tag))
        except RedisError as error:
            self._connections.drop(address)
            raise unavailable(error) from error
        except BaseException:
            self._connections.drop(address)
            raise

    def _exchange(self, call: _Call) -> None:
        """Send what is pending and settle what is answered."""
        batches = self._batches(call)
        sent: list[tuple[Address, Connection]] = []
        try:
            for address, batch in batches.items():
                try:
                    connection = self._connections.own(address)
                    send(connection, call.requests, batch)
                    sent.append((address, connection))
                except (RedisError, ConfigError) as error:
                    self._lose(call, address, batch, error)
            for address, connection in sent:
                batch = batches[address]
                try:
                    answers = receive(connection, batch, self._copies)
                except RedisError as error:
                    self._lose(call, address, batch, error)
                else:
                    for (index, _), answer in zip(batch, answers, strict=True):
                        self._settle(call, address, index, answer)
                    call.note_answered(address, connection, batch)
        except BaseException:
            self._connections.drop_all()  # an answer that was not read would be taken for another's
            raise

    def _batches(self, call: _Call) -> dict[Address, list[Sent]]:
        """Return what goes where: indexes of requests, and whether their slot is still on its way there."""
        batches: dict[Address, list[Sent]] = {}
        for index in call.pending:
            is_asking = index in call.asking
            address = call.asking[index] if is_asking else self._home(call, call.requests[index].tag)
            batches.setdefault(address, []).append(Sent(index, is_asking))
        call.begin_round()
        return batches

    def _home(self, call: _Call, tag: str) -> Address:
        """Return where a tag's keys live, or some server that may know."""
        if tag in self._homes:
            return self._homes[tag]
        return min((*self._nodes, *self._homes.values(), None), key=call.lost.count)

    def _lose(self, call: _Call, address: Address, batch: list[Sent], error: RedisError | ConfigError) -> None:
        """Forget a server that could not be asked, and try once more, perhaps elsewhere."""
        self._forget(call, address)
        if isinstance(error, RedisTimeoutError):
            self._connections.avoid(address)
        is_final = isinstance(error, (RedisTimeoutError, ConfigError)) or call.lost.count(address) >= TRIES
        for index, _ in batch:
            if is_final:
                call.answers[index] = unavailable(error)
            else:
                call.pending.append(index)

    def _settle(self, call: _Call, address: Address, index: int, answer: Any) -> None:  # noqa: ANN401 as redis answers
        """Take an answer, or see to it that the question is asked again."""
        call.answers[index] = answer
        if not isinstance(answer, RedisError):
            return
        call.answers[index] = unavailable(answer)
        if isinstance(answer, MovedError):
            self._homes[call.requests[index].tag] = self._connections.redirected(address, answer)
        elif isinstance(answer, AskError):
            call.asking[index] = self._connections.redirected(address, answer)
        elif isinstance(answer, TryAgainError):
            call.is_moving = True
        elif isinstance(answer, ClusterDownError) and address not in call.lost:
            self._forget(call, address)  # another node may know better
        elif isinstance(answer, TooFewCopiesError):
            self._forget(call, address)  # its replicas are looked at when it is connected to again
            return
        else:
            return
        call.pending.append(index)

    def _forget(self, call: _Call, address: Address) -> None:
        self._connections.drop(address)
        self._homes = {tag: home for tag, home in self._homes.items() if home != address}
        call.lost.append(address)


class _Call:
    """How far a call has come.

    Attributes:
        requests: what is asked.
        answered: who has answered.
        answers: what is known of it by now.
        pending: indexes of what is to be sent in the next round.
        asking: where to send some of that: servers to which the slot is still on its way.
        lost: servers that could not be asked, one entry a time.
        is_moving: whether a slot was seen to move in this round.

    """

    def __init__(self, requests: Sequence[Request], answered: Answered) -> None:
        self.requests = requests
        self.answered = answered
        self.answers: list[Any] = [None] * len(requests)
        self.pending = list(range(len(requests)))
        self.asking: dict[int, Address] = {}
        self.lost: list[Address] = []
        self.is_moving = False

    def note_answered(self, address: Address, connection: Connection, batch: list[Sent]) -> None:
        """Note who answered to what was asked for good, and not sent elsewhere."""
        tags = {self.requests[index].tag for index, _ in batch if not isinstance(self.answers[index], Exception)}
        if tags:
            self.answered.setdefault((address, connection), set()).update(tags)

    def begin_round(self) -> None:
        self.pending = []
        self.asking = {}
        self.is_moving = False
