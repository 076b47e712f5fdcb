"""Commands to one server over one connection, and their answers.

Answers wait until the promised copies are on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from redis.exceptions import (
    AskError,
    NoScriptError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from collector.errors import ConfigError, StoreFullError, StoreUnavailableError
from collector.plural import plural
from collector.redis_servers.command import PackedCommand, even_when_full
from collector.redis_servers.connection import Connection
from collector.redis_servers.server import Replicas, history, parse_info

COPIES_WAITS_MS = tuple(2**power for power in range(2, 11))
"""Milliseconds of the successive waits for copies, two seconds in all.

A wait asks the replicas once how far they are. What they write to disk after that, they report by
themselves only once a second. So ask again, soon at first.
"""

ASKING = PackedCommand.of("", "ASKING").command
REPLICATION = PackedCommand.of("", "INFO", "replication").command


class TooFewCopiesError(RedisError):
    """A write was made, but too few replicas have it on disk yet."""


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

    Args:
        connection: the connection over which the batch was sent.
        batch: the commands that were sent.
        copies: the number of replicas that must have the writes on disk.

    """
    answers = []
    for _, is_asking in batch:
        if is_asking:
            connection.receive()
        answers.append(_answer(connection))
    if not copies or _has_copies(connection, copies):
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
        answer = _answer(connection)
        if not isinstance(answer, RedisError):
            return tag
        if not isinstance(answer, AskError):
            break
    raise answer


def require_copies(connection: Connection, replicas: Replicas) -> None:
    """Wait until what this connection wrote is on disk here and on as many replicas as there are.

    Raises:
        RedisError: if it is not, in two seconds.

    """
    if _has_copies(connection, replicas.number):
        return
    message = f"what was read is not yet on the disks of {plural(replicas.number, 'replica')}"
    if replicas.failed:
        names = " and ".join(replicas.failed)
        message += (
            f", of which {plural(len(replicas.failed), 'has', 'have')} failed: bring back {names}, or have every other "
            "node of the cluster forget it (CLUSTER FORGET)"
        )
    raise TooFewCopiesError(message)


def unavailable(error: RedisError | ConfigError) -> StoreUnavailableError:
    """Translate an error of a server into one of the collector's own."""
    if isinstance(error, (RedisConnectionError, RedisTimeoutError)):
        return StoreUnavailableError(f"the store cannot be reached: {error}; is it running?")
    if isinstance(error, (ConfigError, TooFewCopiesError)):
        return StoreUnavailableError(str(error))
    if isinstance(error, OutOfMemoryError):
        return StoreFullError("the store's memory is full: give it more, or retire tallies")
    return StoreUnavailableError(f"the store returned an error: {error}")


def _has_copies(connection: Connection, copies: int) -> bool:
    """Wait for this connection's writes to be on disk here and on enough replicas.

    Return whether they are.

    Raises:
        TooFewCopiesError: if the server was a replica since the connection was opened. Then it has
            taken over the data of another, perhaps without those writes, and continues from an
            earlier place: the replicas may have come to the place of those writes without them.

    """
    for wait_ms in COPIES_WAITS_MS:
        wait = PackedCommand.of("", "WAITAOF", 1, copies, wait_ms).command
        connection.send(wait + REPLICATION)
        answer, facts = _answer(connection), _answer(connection)
        if isinstance(answer, RedisError) or isinstance(facts, RedisError):
            return False
        if history(parse_info(facts)) != connection.history:
            raise TooFewCopiesError("a server of the store was a replica meanwhile: what it had may be lost; ask again")
        here, on_replicas = answer
        if here >= 1 and on_replicas >= copies:
            return True
    return False


def _answer(connection: Connection) -> Any:  # noqa: ANN401 as redis answers
    """Return the next answer. An error that concerns one command only is an answer too."""
    try:
        return connection.receive()
    except (NoScriptError, ReadOnlyError):
        raise  # the server was restarted or is no longer the master: connect again
    except ResponseError as error:
        return error
