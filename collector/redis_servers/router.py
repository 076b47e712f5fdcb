"""Sends each command to the server that has the command's keys, even on a cluster.

The router learns the locations of keys from the cluster's redirections, and forgets the locations
if a node is lost. While a slot moves, commands for the slot's keys are retried for about a second.
If the move takes longer, or if a node is down, only the commands for the affected keys fail.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, TypeAlias

from redis.exceptions import AskError, ClusterDownError, MovedError, RedisError, ResponseError, TryAgainError
from redis.exceptions import TimeoutError as RedisTimeoutError

from collector.errors import ConfigError, StoreUnavailableError, plural
from collector.redis_servers.connection import Connection, PackedCommand, TooFewCopiesError, even_when_full, unavailable
from collector.redis_servers.connections import Connections
from collector.redis_servers.server import Address, are_on_disk, require_copies

ROUNDS = 9
"""The maximum number of rounds in a call of `Router.ask_all`.

In each round, a command is sent at most once.

A command needs another round after a redirection, after a lost connection, and while its slot is
moving.
"""

FIRST_PAUSE_S = 0.005
"""The first pause while a slot moves. Each pause is twice as long as the previous one.

All pauses together last at most 2.6 seconds.
"""

TRIES = 2
"""The maximum number of attempts to reach a server.

The first attempt may use an old connection that is already broken.
"""

ASKING = PackedCommand.packed("", "ASKING").command

Answered: TypeAlias = dict[tuple[Address, Connection], set[str]]
"""The tags of the commands that a server answered, grouped by server and connection.

See `PackedCommand` for tags.
"""


_Batch: TypeAlias = list[tuple[int, bool]]
"""The commands for one server: the index of each request, and whether its slot is still moving.

If the slot is moving to that server, the command ASKING must be sent first.
"""


class _Call:
    """The progress of one call of `Router.ask_all`.

    Attributes:
        answered: the tags of the requests that each server answered, for `Router.confirm`.
        answers: the latest response or error for each request.
        pending: indexes of the requests to send in the next round.
        asking: the server to which a request's slot is still moving, keyed by the request's index.
        lost: the servers that failed, with one entry for each failure.
        lost_before: the servers that had failed before this round.
        is_moving: whether a slot was moving in this round.
    """

    def __init__(self, requests: Sequence[PackedCommand], answered: Answered) -> None:
        """Start with all requests pending."""
        self.requests = requests
        self.answered = answered
        self.answers: list[Any] = [None] * len(requests)
        self.pending = list(range(len(requests)))
        self.asking: dict[int, Address] = {}
        self.lost: list[Address] = []
        self.lost_before: frozenset[Address] = frozenset()
        self.is_moving = False

    def begin_round(self) -> None:
        """Clear the list of pending requests, and prepare for a new round."""
        self.pending = []
        self.asking = {}
        self.lost_before = frozenset(self.lost)
        self.is_moving = False


class Router:
    """Sends commands to the servers of a store."""

    def __init__(self, connections: Connections, copies: int) -> None:
        """Start without knowing the locations of keys. Nothing is sent before the first use.

        ``copies`` is the number of replicas that must have a write on disk before an
        acknowledgment.
        """
        self._connections = connections
        self._homes: dict[str, Address] = {}
        self._copies = copies

    def ask(self, request: PackedCommand) -> Any:  # noqa: ANN401 the type depends on the command
        """Send a command, and return the response. This method is faster than `ask_all`.

        Raises:
            StoreUnavailableError: if there is no response.
        """
        home = self._homes.get(request.tag)
        connection = self._connections.opened(home)
        if connection is not None and not self._copies:
            try:
                connection.send(request.command)
                return connection.receive()
            except RedisTimeoutError as error:  # the caller cannot wait for another timeout
                self._connections.drop(home)
                self._connections.avoid(home)
                raise unavailable(error) from error
            except RedisError as error:  # try again: sending a command twice is always safe
                if not isinstance(error, ResponseError):
                    self._connections.drop(home)
            except BaseException:
                self._connections.drop(home)
                raise
        (answer,) = self.ask_all((request,))
        if isinstance(answer, StoreUnavailableError):
            raise answer
        return answer

    def ask_all(self, requests: Sequence[PackedCommand], answered: Answered | None = None) -> list[Any]:
        """Send commands, grouped by server.

        Args:
            requests: the commands.
            answered: collects the servers that responded, for `confirm`.

        Returns:
            The response to each request, or a StoreUnavailableError, in the order of the requests.
            A write that has a response is on the disks of the required number of replicas.
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
            call.answers[index] = StoreUnavailableError("a slot of the store is moving; try again later")
        return call.answers

    def confirm(self, answered: Answered, name: str) -> None:
        """Wait until the replicas that could replace a server have the data that was read.

        Args:
            answered: the servers that responded, and the tags of the commands that they answered.
            name: the name, without a shard's prefix, of the key that is written after the reads. A
                replica that has this write also has the data that was read.

        Raises:
            StoreUnavailableError: if a connection is closed, or replicas do not have the data in
                time.
        """
        if self._connections.is_replicated:
            for (address, connection), tags in answered.items():
                self._confirm(address, connection, sorted(tags), name)

    def _confirm(self, address: Address, connection: Connection, tags: Sequence[str], name: str) -> None:
        if self._connections.opened(address) is not connection:
            raise StoreUnavailableError("a connection to the store broke during a read; try again")
        try:
            tag = _write_after_reading(connection, tags, name)
            require_copies(connection, self._connections.replicas_to_confirm(connection, tag))
        except RedisError as error:
            self._connections.drop(address)
            raise unavailable(error) from error
        except BaseException:
            self._connections.drop(address)
            raise

    def _exchange(self, call: _Call) -> None:
        batches = self._batches(call)
        sent: list[tuple[Address, Connection]] = []
        try:
            for address, batch in batches.items():
                try:
                    connection = self._connections.own(address)
                    _send(connection, call.requests, batch)
                    sent.append((address, connection))
                except (RedisError, ConfigError) as error:
                    self._lose(call, address, batch, error)
            for address, connection in sent:
                batch = batches[address]
                try:
                    answers = _receive(connection, batch, self._copies)
                except RedisError as error:
                    self._lose(call, address, batch, error)
                else:
                    for (index, _), answer in zip(batch, answers, strict=True):
                        self._settle(call, address, index, answer)
                    self._note_answered(call, address, connection, batch)
        except BaseException:
            # an unread response would be mistaken for the response to a later command
            self._connections.drop_all()
            raise

    @staticmethod
    def _note_answered(call: _Call, address: Address, connection: Connection, batch: _Batch) -> None:
        tags = {call.requests[index].tag for index, _ in batch if not isinstance(call.answers[index], Exception)}
        if tags:
            call.answered.setdefault((address, connection), set()).update(tags)

    def _batches(self, call: _Call) -> dict[Address, _Batch]:
        """Return the pending requests, grouped by the next server to ask."""
        batches: dict[Address, _Batch] = {}
        for index in call.pending:
            is_asking = index in call.asking
            address = call.asking[index] if is_asking else self._home(call, call.requests[index].tag)
            batches.setdefault(address, []).append((index, is_asking))
        call.begin_round()
        return batches

    def _home(self, call: _Call, tag: str) -> Address:
        """Return the server that has the keys with a tag (see `PackedCommand`).

        If that server is unknown, return the server that has failed least often in this call. That
        server may redirect the request to another server.
        """
        home = self._homes.get(tag)
        if home is not None:
            return home
        return min((*self._connections.nodes, *self._homes.values(), None), key=call.lost.count)

    def _lose(self, call: _Call, address: Address, batch: _Batch, error: RedisError | ConfigError) -> None:
        """Forget a server that failed, and retry its requests once, perhaps at another server."""
        self._forget(call, address)
        if isinstance(error, RedisTimeoutError):
            self._connections.avoid(address)
        is_final = isinstance(error, (RedisTimeoutError, ConfigError)) or call.lost.count(address) >= TRIES
        for index, _ in batch:
            if is_final:
                call.answers[index] = unavailable(error)
            else:
                call.pending.append(index)

    def _settle(self, call: _Call, address: Address, index: int, answer: Any) -> None:  # noqa: ANN401 the type depends on the command
        """Record a response, or make its request pending again."""
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
        elif isinstance(answer, ClusterDownError) and address not in call.lost_before:
            if address not in call.lost:  # the first request of this round that failed
                self._forget(call, address)  # another node may know where the slots are
        elif isinstance(answer, TooFewCopiesError):
            self._forget(call, address)  # the next connection checks the replicas
            return
        else:
            return
        call.pending.append(index)

    def _forget(self, call: _Call, address: Address) -> None:
        self._connections.drop(address)
        known = self._homes.copy()  # copied in one step, because other threads may add servers in the meantime
        self._homes = {tag: home for tag, home in known.items() if home != address}
        call.lost.append(address)


def _send(connection: Connection, requests: Sequence[PackedCommand], batch: _Batch) -> None:
    """Send all commands of a batch without waiting for responses."""
    commands = []
    for place, is_asking in batch:
        commands += [ASKING] * is_asking
        commands.append(requests[place].command)
    connection.send(b"".join(commands))


def _receive(connection: Connection, batch: _Batch, copies: int) -> list[Any]:
    """Return the responses to a batch. An error about only one command is also a response.

    Wait until ``copies`` replicas have the batch's writes on disk. If this takes too long, every
    response becomes an error.
    """
    answers = []
    for _, is_asking in batch:
        if is_asking:
            connection.receive()
        answers.append(connection.receive_any())
    if not copies or are_on_disk(connection, copies):
        return answers
    error = TooFewCopiesError(f"a write is not yet on disk on {plural(copies, 'replica')}")
    return [answer if isinstance(answer, RedisError) else error for answer in answers]


def _write_after_reading(connection: Connection, tags: Sequence[str], name: str) -> str:
    """Make a server write to a shard, and return the shard's tag.

    A replica that has the write also has everything that the server returned earlier on this
    connection. If the slot of a tag is moving to another server, the next tag is tried.

    Raises:
        RedisError: if the server does not accept a write to any of these shards.
    """
    answer: Any = None
    for tag in tags:
        connection.send(PackedCommand.packed(tag, *even_when_full("SET", tag + name, "")).command)
        answer = connection.receive_any()
        if not isinstance(answer, RedisError):
            return tag
        if not isinstance(answer, AskError):
            break
    raise answer
