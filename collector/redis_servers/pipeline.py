"""Commands to one server over one connection, and their answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.exceptions import AskError, OutOfMemoryError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from client_sdk.protocol.wire.failure import Failure, failure_of
from collector.errors import ConfigError, StoreFullError, StoreUnavailableError
from collector.plural import plural
from collector.redis_servers.command import PackedCommand, even_when_full
from collector.redis_servers.connection import Connection
from collector.redis_servers.copies_on_disk import TooFewCopiesError, are_on_disk

ASKING = PackedCommand.of("", "ASKING").command


class Sent(NamedTuple):
    """A command in the batch for one server.

    Attributes:
        place: index of the request in its call.
        is_asking: whether its slot is still moving to that server.

    """

    place: int
    is_asking: bool


def send(connection: Connection, requests: Sequence[PackedCommand], batch: Sequence[Sent]) -> None:
    """Send a batch of commands in a row."""
    commands = []
    for place, is_asking in batch:
        commands += [ASKING] * is_asking
        commands.append(requests[place].command)
    connection.send(b"".join(commands))


def receive(connection: Connection, batch: Sequence[Sent], copies: int) -> list[Any]:
    """Return the answers to a batch. An error that concerns one command only is an answer too.

    They wait until the promised copies are on disk. If those do not come in time, an error stands
    in place of each answer that is none.

    Args:
        connection: the connection over which the batch was sent.
        batch: the commands that were sent.
        copies: the number of replicas that must have the writes on disk.

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


def write_after_reading(connection: Connection, tags: Sequence[str], name: str) -> str:
    """Let a server make a write on one of its shards, and return the shard's tag.

    What the server answered earlier on this connection came before the write.

    Args:
        connection: the connection over which it answered.
        tags: prefixes of the shards that it answered for; slots of these may be moving to another
            server.
        name: the name of the key to write, without the prefix.

    Raises:
        RedisError: if it does not take writes for any of them.

    """
    answer: Any = None
    for tag in tags:
        connection.send(PackedCommand.of(tag, *even_when_full("SET", tag + name, "")).command)
        answer = connection.receive_any()
        if not isinstance(answer, RedisError):
            return tag
        if not isinstance(answer, AskError):
            break
    raise answer


def unavailable(error: RedisError | ConfigError) -> StoreUnavailableError:
    """Translate an error of a server into one of the collector's own."""
    if isinstance(error, (ConfigError, TooFewCopiesError)):
        return StoreUnavailableError(str(error))
    if isinstance(error, OutOfMemoryError):
        return StoreFullError("the store's memory is full: give it more, or retire tallies")
    failure = failure_of(error)
    if isinstance(error, (RedisConnectionError, RedisTimeoutError)) or failure is Failure.DISK:
        return StoreUnavailableError(failure.said_of("the store", str(error)))
    return StoreUnavailableError(f"the store returned an error: {error}")
