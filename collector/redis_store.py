"""The tally store on Redis or Valkey: scripts, questions and connections.

One upload is one script on one hash slot: it looks the upload id up, remembers its verdict and counts every report, or
does none of it. `keys` says what is kept where.
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError

from client_sdk.spec import Window
from collector import keys
from collector.config import ConfigError, Durability
from collector.count_upload import COUNT_UPLOAD, count_command, read_answer
from collector.judge import Judgement
from collector.promise import SETTINGS, require_promise
from collector.store import Counted, Outcome, StoreUnavailableError, Tally

SCHEMA = b"1"

SHARDS = 1
"""Shards of a new store on a single server; an existing store keeps the number that it was made with."""

CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 5.0
"""A write that is not on disk within five seconds is a sick disk: better a 503 and another try."""


class RedisStore:
    """A TallyStore on one Redis or Valkey server."""

    def __init__(self, url: str, shards: int = SHARDS) -> None:
        """Name the server; nothing is sent before the first use.

        Args:
            url: where the server listens.
            shards: how many shards the store was made with; ``prepare`` finds out.

        Raises:
            ConfigError: if the URL is none.

        """
        try:
            self._pool = redis.ConnectionPool.from_url(
                url,
                socket_connect_timeout=CONNECT_TIMEOUT_S,
                socket_timeout=ANSWER_TIMEOUT_S,
                client_name=None,
                protocol=2,
            )
        except ValueError:  # not shown: a URL that is cut in the wrong places may show a password
            raise ConfigError(
                "--redis must be a URL such as redis://HOST:6379/0, rediss://HOST:6379/0 or unix:///PATH; write "
                "special characters of a password as %XX"
            ) from None
        self._client = redis.Redis(connection_pool=self._pool)
        self._thread = threading.local()
        self.shards = shards

    def disconnect(self) -> None:
        """Close this thread's connections and the pool's; another use opens them again."""
        connection = getattr(self._thread, "connection", None)
        if connection is not None:
            connection.disconnect()
        self._pool.disconnect()

    def prepare(self, durability: Durability) -> None:
        """Make the store ready: agree on schema and shards, and make sure that it keeps the promise.

        Raises:
            ConfigError: if the store is of another schema, too old, or cannot keep the promise.
            StoreUnavailableError: if it does not answer.

        """
        settings: dict[str, str] = {}
        for name in SETTINGS:
            settings |= self._ask(self._client.config_get, name)
        require_promise(str(self._ask(self._client.info, "server")["redis_version"]), settings, durability)
        for field, value in (("schema", SCHEMA), ("shards", str(SHARDS))):
            self._ask(self._client.hsetnx, keys.STORE, field, value)
        found = self._ask(self._client.hgetall, keys.STORE)
        if found[b"schema"] != SCHEMA:
            raise ConfigError(f"the store has schema {found[b'schema'].decode()}, this version reads {SCHEMA.decode()}")
        self.shards = int(found[b"shards"])

    def agree_on_grace(self, grace_s: int) -> None:
        """Keep the grace with which ids are remembered.

        Raises:
            ConfigError: if it is longer than before while windows are open: their ids would be forgotten before they
                close, and an upload that comes again could be counted twice.

        """
        before = self._ask(self._client.hget, keys.STORE, "grace")
        open_windows = self.tallied_windows() - self.closed_windows()
        if before is not None and int(before) < grace_s and open_windows:
            raise ConfigError(
                f"--grace can grow from {int(before)} seconds only when no window with reports is open; "
                f"open are: {', '.join(sorted(open_windows))}"
            )
        self._ask(self._client.hset, keys.STORE, "grace", str(grace_s))

    def count(self, judgement: Judgement) -> Counted:
        """See TallyStore."""
        (outcome,) = self.count_all((judgement,))
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def count_all(self, judgements: Sequence[Judgement]) -> list[Outcome]:
        """See TallyStore.

        After a restart of the store the connection is stale: one more try is safe, because the upload ids make it so.
        """
        commands = [count_command(judgement, self.shards) for judgement in judgements]
        try:
            try:
                answers = self._exchange(commands)
            except (NoScriptError, RedisConnectionError):
                answers = self._exchange(commands)
        except RedisError as error:
            return [_unavailable(error)] * len(commands)
        return [_unavailable(answer) if isinstance(answer, RedisError) else read_answer(answer) for answer in answers]

    def close(self, window: Window) -> None:
        """See TallyStore."""
        for shard in range(self.shards):
            self._ask(self._client.sadd, keys.of_shard(shard, keys.CLOSED), window.text)

    def closed_windows(self) -> frozenset[str]:
        """See TallyStore; a window is closed when every shard has closed it."""
        return frozenset.intersection(*self._members(keys.CLOSED))

    def tallied_windows(self) -> frozenset[str]:
        """See TallyStore."""
        return frozenset().union(*self._members(keys.WINDOWS))

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[Tally]:
        """See TallyStore."""
        return self._tallies(lambda window: window in closed, closed=True)

    def open_snapshot(self, interval_s: int, closed: frozenset[str]) -> Iterator[Tally]:
        """See TallyStore; every collector on the store shares one look."""
        snapshot = self._ask(self._client.get, keys.SNAPSHOT)
        if snapshot is None:
            fresh = json.dumps(
                [
                    (tally.metric, tally.edition, tally.window, tally.counts)
                    for tally in self._tallies(lambda window: window not in closed, closed=False)
                ]
            )
            self._ask(self._client.set, keys.SNAPSHOT, fresh, nx=True, ex=interval_s)
            snapshot = self._ask(self._client.get, keys.SNAPSHOT) or fresh
        for metric, edition, window, counts in json.loads(snapshot):
            if window not in closed:
                yield Tally(metric, edition, window, closed=False, counts=tuple(counts))

    def ping(self) -> None:
        """See TallyStore."""
        self._ask(self._client.ping)

    def rewrite_log(self) -> bool:
        """Ask the server to rewrite its append-only file, which holds uploads in order until then.

        Returns:
            Whether the rewrite has begun, or there is no such file; if another is under way, ask again later.

        """
        if self._ask(self._client.config_get, "appendonly") != {"appendonly": "yes"}:
            return True
        try:
            self._client.bgrewriteaof()
        except redis.ResponseError:
            return False
        except RedisError as error:
            raise _unavailable(error) from error
        return True

    def log_rewrite_failed(self) -> bool:
        """Whether the last rewrite that began came to nothing, for example because the disk is full."""
        found: dict[str, Any] = self._ask(self._client.info, "persistence")
        return bool(found["aof_last_bgrewrite_status"] != "ok")

    def run(self, *command: bytes | str | int) -> Any:  # noqa: ANN401 as redis answers
        """Return the server's answer to a command: for what is done to a whole store, in modules beside this one.

        Raises:
            StoreUnavailableError: if there is none, or an error.

        """
        return self._ask(self._client.execute_command, *command)

    def index(self) -> dict[str, int]:
        """Return every tally's name, METRIC:EDITION:WINDOW, and its number of symbols."""
        found: dict[str, int] = {}
        for shard in range(self.shards):
            index = self._ask(self._client.hgetall, keys.of_shard(shard, keys.TALLIES))
            found |= {name.decode(): int(symbols) for name, symbols in index.items()}
        return found

    def _tallies(self, wanted: Callable[[str], bool], *, closed: bool) -> Iterator[Tally]:
        for name, symbols in sorted(self.index().items()):
            metric, edition, window = name.split(":")
            if wanted(window):
                tally = Tally(metric, edition, window, closed, self._counts(name, symbols))
                if self._is_indexed(name):  # or it is being retired, and these may be half its counts
                    yield tally

    def _is_indexed(self, name: str) -> bool:
        return any(
            self._ask(self._client.hexists, keys.of_shard(shard, keys.TALLIES), name) for shard in range(self.shards)
        )

    def _counts(self, name: str, symbols: int) -> tuple[int, ...]:
        counts = [0] * symbols
        for shard in range(self.shards):
            packed = self._ask(self._client.get, keys.tally(shard, name)) or b""
            for symbol, (count,) in enumerate(struct.iter_unpack(">q", packed)):
                counts[symbol] += count
        return tuple(counts)

    def _members(self, name: str) -> Iterator[frozenset[str]]:
        """Yield the members of a set, shard by shard."""
        for shard in range(self.shards):
            yield frozenset(member.decode() for member in self._ask(self._client.smembers, keys.of_shard(shard, name)))

    def _ask(self, command: Callable[..., Any], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 as redis answers
        try:
            return command(*arguments, **options)
        except RedisError as error:
            raise _unavailable(error) from error

    def _exchange(self, commands: Sequence[bytes]) -> list[bytes | RedisError]:
        """Send commands on this thread's own connection and return their answers.

        A connection of its own spares each upload the pool's bookkeeping, about a third of a worker's time.
        """
        connection = getattr(self._thread, "connection", None)
        try:
            if connection is None:
                connection = self._thread.connection = self._connect()
            connection.send_packed_command(commands)
            return [_answer(connection) for _ in commands]
        except BaseException:
            if connection is not None:
                connection.disconnect()
            self._thread.connection = None
            raise

    def _connect(self) -> Any:  # noqa: ANN401 redis's connections share no public type
        connection = self._pool.connection_class(**self._pool.connection_kwargs)
        connection.send_command("SCRIPT", "LOAD", COUNT_UPLOAD)
        connection.read_response()
        return connection


def _answer(connection: Any) -> bytes | RedisError:  # noqa: ANN401 as above
    """Return the next answer; an error that is one upload's alone is an answer too."""
    try:
        answer: bytes = connection.read_response()
    except NoScriptError:
        raise
    except redis.ResponseError as error:
        return error
    return answer


def _unavailable(error: RedisError) -> StoreUnavailableError:
    if isinstance(error, RedisConnectionError):
        return StoreUnavailableError(f"the store cannot be reached: {error}; is it running?")
    return StoreUnavailableError(f"the store did not do as asked: {error}")
