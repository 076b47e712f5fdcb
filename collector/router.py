"""Sends commands to the servers that hold their keys: one server, or the nodes of a cluster.

Where keys live is learned from the cluster's own redirections, and forgotten when a node is lost. While a slot moves,
its commands are tried again for about a second; then, and while a node is down, they alone fail.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from redis.exceptions import (
    AskError,
    ClusterDownError,
    MovedError,
    NoScriptError,
    ReadOnlyError,
    RedisError,
    ResponseError,
    TryAgainError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from collector.config import ConfigError
from collector.connections import Connections
from collector.request import Request
from collector.server import Address, Connection
from collector.store import StoreUnavailableError

ROUNDS = 9
"""How often a command is sent at most: pauses while its slot moves, and redirections, are a round each."""

FIRST_PAUSE_S = 0.005
"""The first pause while a slot moves; each is twice as long as the one before, all together are about a second."""

TRIES = 2
"""How often a server is tried whose connection broke: it may have been stale."""

COPIES_WAITS_MS = tuple(2**power for power in range(2, 11))
"""Milliseconds of each wait for copies, two seconds together.

A wait asks the replicas once how far they are; what they write to disk after that they tell by themselves only once a
second. So ask again, soon at first.
"""

ASKING = Request.of("", "ASKING").command


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
                connection.send_packed_command((request.command,))
                return connection.read_response()
            except RedisError:
                self._connections.drop(home)  # and try again, as a command may always be
            except BaseException:
                self._connections.drop(home)
                raise
        (answer,) = self.ask_all((request,))
        if isinstance(answer, StoreUnavailableError):
            raise answer
        return answer

    def ask_all(self, requests: Sequence[Request]) -> list[Any]:
        """Send commands, all of a server in a row, and return their answers or StoreUnavailableErrors in order.

        An answer to a write means that it is on disk where, and as often as, promised.
        """
        call = _Call(requests)
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

    def _exchange(self, call: _Call) -> None:
        """Send what is pending and settle what is answered."""
        batches = self._batches(call)
        sent: list[tuple[Address, Connection]] = []
        try:
            for address, batch in batches.items():
                try:
                    sent.append((address, self._send(call, address, batch)))
                except (RedisError, ConfigError) as error:
                    self._lose(call, address, batch, error)
            for address, connection in sent:
                batch = batches[address]
                try:
                    answers = self._receive(connection, batch)
                except RedisError as error:
                    self._lose(call, address, batch, error)
                else:
                    for (index, _), answer in zip(batch, answers, strict=True):
                        self._settle(call, address, index, answer)
        except BaseException:
            self._connections.drop_all()  # an answer that was not read would be taken for another's
            raise

    def _batches(self, call: _Call) -> dict[Address, list[tuple[int, bool]]]:
        """Return what goes where: indexes of requests, and whether their slot is still on its way there."""
        batches: dict[Address, list[tuple[int, bool]]] = {}
        for index in call.pending:
            is_asking = index in call.asking
            address = call.asking[index] if is_asking else self._home(call, call.requests[index].tag)
            batches.setdefault(address, []).append((index, is_asking))
        call.begin_round()
        return batches

    def _home(self, call: _Call, tag: str) -> Address:
        """Return where a tag's keys live, or some server that may know."""
        if tag in self._homes:
            return self._homes[tag]
        known = (*self._nodes, *self._homes.values())
        return next((address for address in known if address not in call.lost), None)

    def _send(self, call: _Call, address: Address, batch: list[tuple[int, bool]]) -> Connection:
        connection = self._connections.own(address)
        commands = []
        for index, is_asking in batch:
            commands += [ASKING] * is_asking
            commands.append(call.requests[index].command)
        connection.send_packed_command((b"".join(commands),))
        return connection

    def _receive(self, connection: Connection, batch: list[tuple[int, bool]]) -> list[Any]:
        answers = []
        for _, is_asking in batch:
            if is_asking:
                connection.read_response()
            answers.append(_answer(connection))
        if not self._copies or self._has_copies(connection):
            return answers
        error = _TooFewCopiesError(f"a write is not yet on the disks of {self._copies} replicas")
        return [answer if isinstance(answer, RedisError) else error for answer in answers]

    def _has_copies(self, connection: Connection) -> bool:
        """Wait until what this connection wrote is on disk here and on as many replicas as promised."""
        for wait_ms in COPIES_WAITS_MS:
            connection.send_command("WAITAOF", 1, self._copies, wait_ms)
            copies = _answer(connection)
            if isinstance(copies, RedisError):
                return False
            here, on_replicas = copies
            if here >= 1 and on_replicas >= self._copies:
                return True
        return False

    def _lose(
        self, call: _Call, address: Address, batch: list[tuple[int, bool]], error: RedisError | ConfigError
    ) -> None:
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
        elif isinstance(answer, _TooFewCopiesError):
            self._forget(call, address)  # its replicas are looked at when it is connected to again
            return
        else:
            return
        call.pending.append(index)

    def _forget(self, call: _Call, address: Address) -> None:
        self._connections.drop(address)
        self._homes = {tag: home for tag, home in self._homes.items() if home != address}
        call.lost.append(address)


class _TooFewCopiesError(RedisError):
    """A write was made and is not yet where it was promised to be."""


class _Call:
    """How far a call has come.

    Attributes:
        requests: what is asked.
        answers: what is known of it by now.
        pending: indexes of what is to be sent in the next round.
        asking: where to send some of that: servers to which the slot is still on its way.
        lost: servers that could not be asked, one entry a time.
        is_moving: whether a slot was seen to move in this round.

    """

    def __init__(self, requests: Sequence[Request]) -> None:
        self.requests = requests
        self.answers: list[Any] = [None] * len(requests)
        self.pending = list(range(len(requests)))
        self.asking: dict[int, Address] = {}
        self.lost: list[Address] = []
        self.is_moving = False

    def begin_round(self) -> None:
        self.pending = []
        self.asking = {}
        self.is_moving = False


def _answer(connection: Connection) -> Any:  # noqa: ANN401 as redis answers
    """Return the next answer; an error that is one command's alone is an answer too."""
    try:
        return connection.read_response()
    except (NoScriptError, ReadOnlyError):
        raise  # a server that was restarted or is no longer the master: connect again
    except ResponseError as error:
        return error


def unavailable(error: RedisError | ConfigError) -> StoreUnavailableError:
    """Return an error of this project's own for one of a server."""
    if isinstance(error, (RedisConnectionError, RedisTimeoutError)):
        return StoreUnavailableError(f"the store cannot be reached: {error}; is it running?")
    if isinstance(error, (ConfigError, _TooFewCopiesError)):
        return StoreUnavailableError(str(error))
    return StoreUnavailableError(f"the store did not do as asked: {error}")
