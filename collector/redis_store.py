"""The tally store on Redis or Valkey: keys, scripts and connections. The only importer of redis.

One upload is one script on one hash slot: it looks the upload id up, remembers its verdict and counts every report, or
does none of it. Keys of a shard share the hash tag ``{shard}``; the shard is a function of the upload id.

==========================================  =======================================================================
``hearsay:store``                           hash: schema version, number of shards, grace; written at first use
``{shard}:ids:END:PATH``                    sorted set: raw upload id and packed verdict; a bucket (see count_upload)
``{shard}:tally:METRIC:EDITION:WINDOW``     packed signed 64-bit counters, big-endian, one a symbol
``{shard}:tallies``                         hash: METRIC:EDITION:WINDOW -> number of symbols
``{shard}:windows``                         set: names of windows with a tally
``{shard}:closed``                          set: names of closed windows
``{0}:snapshot``                            JSON: the last look at open windows
==========================================  =======================================================================

Nothing holds an address, a receive time or an order (but for how deep in the tree of buckets an id lies).
"""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

import hiredis
import redis
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import NoScriptError, RedisError

from client_sdk.spec import Verdict, Window
from collector.config import ConfigError, Durability
from collector.count_upload import COUNT_UPLOAD, COUNT_UPLOAD_SHA, bucket_path
from collector.judge import Judgement
from collector.promise import SETTINGS, require_promise
from collector.remembered import pack, unpack
from collector.store import StoreUnavailableError, Tally

SCHEMA = b"1"

SHARDS = 1
"""Shards of a new store on a single server; an existing store keeps the number that it was made with."""

CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 5.0
"""A write that is not on disk within five seconds is a sick disk: better a 503 and another try."""

STORE_KEY = "hearsay:store"
SNAPSHOT_KEY = "{0}:snapshot"


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
        except ValueError as error:
            raise ConfigError(f"--redis: {error}") from error
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
            self._ask(self._client.hsetnx, STORE_KEY, field, value)
        found = self._ask(self._client.hgetall, STORE_KEY)
        if found[b"schema"] != SCHEMA:
            raise ConfigError(f"the store has schema {found[b'schema'].decode()}, this version reads {SCHEMA.decode()}")
        self.shards = int(found[b"shards"])

    def agree_on_grace(self, grace_s: int) -> None:
        """Keep the grace with which ids are remembered.

        Raises:
            ConfigError: if it is longer than before while windows are open: their ids would be forgotten before they
                close, and an upload that comes again could be counted twice.

        """
        before = self._ask(self._client.hget, STORE_KEY, "grace")
        open_windows = self.tallied_windows() - self.closed_windows()
        if before is not None and int(before) < grace_s and open_windows:
            raise ConfigError(
                f"--grace can grow from {int(before)} seconds only when no window with reports is open; "
                f"open are: {', '.join(sorted(open_windows))}"
            )
        self._ask(self._client.hset, STORE_KEY, "grace", str(grace_s))

    def count(self, judgement: Judgement) -> Verdict:
        """See TallyStore."""
        shard = int(judgement.upload[-8:], 16) % self.shards
        tag = f"{{{shard}}}:"
        keys = [f"{tag}ids:{judgement.latest_end}:", f"{tag}closed", f"{tag}tallies", f"{tag}windows"]
        arguments: list[bytes | str | int] = [
            bytes.fromhex(judgement.upload),
            bucket_path(judgement.upload),
            pack(judgement.reports, judgement.refused),
            judgement.remember_until,
        ]
        for place, metric, edition, window, symbol, symbols in judgement.additions:
            keys.append(f"{tag}tally:{metric}:{edition}:{window}")
            arguments += (place, symbol, symbols)
        return unpack(self._run_script((len(keys), *keys, *arguments)))

    def close(self, window: Window) -> None:
        """See TallyStore."""
        for shard in range(self.shards):
            self._ask(self._client.sadd, f"{{{shard}}}:closed", window.text)

    def closed_windows(self) -> frozenset[str]:
        """See TallyStore; a window is closed when every shard has closed it."""
        return frozenset.intersection(*(self._members(f"{{{shard}}}:closed") for shard in range(self.shards)))

    def tallied_windows(self) -> frozenset[str]:
        """See TallyStore."""
        return frozenset().union(*(self._members(f"{{{shard}}}:windows") for shard in range(self.shards)))

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[Tally]:
        """See TallyStore."""
        return self._tallies(lambda window: window in closed, closed=True)

    def open_snapshot(self, interval_s: int, closed: frozenset[str]) -> Iterator[Tally]:
        """See TallyStore; every collector on the store shares one look."""
        snapshot = self._ask(self._client.get, SNAPSHOT_KEY)
        if snapshot is None:
            fresh = json.dumps(
                [
                    (tally.metric, tally.edition, tally.window, tally.counts)
                    for tally in self._tallies(lambda window: window not in closed, closed=False)
                ]
            )
            self._ask(self._client.set, SNAPSHOT_KEY, fresh, nx=True, ex=interval_s)
            snapshot = self._ask(self._client.get, SNAPSHOT_KEY) or fresh
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

    def _index(self) -> dict[str, int]:
        """Return every tally's name and its number of symbols."""
        found: dict[str, int] = {}
        for shard in range(self.shards):
            index = self._ask(self._client.hgetall, f"{{{shard}}}:tallies")
            found |= {name.decode(): int(symbols) for name, symbols in index.items()}
        return found

    def _tallies(self, wanted: Callable[[str], bool], *, closed: bool) -> Iterator[Tally]:
        for name, symbols in sorted(self._index().items()):
            metric, edition, window = name.split(":")
            if wanted(window):
                yield Tally(metric, edition, window, closed, self._counts(name, symbols))

    def _counts(self, name: str, symbols: int) -> tuple[int, ...]:
        counts = [0] * symbols
        for shard in range(self.shards):
            packed = self._ask(self._client.get, f"{{{shard}}}:tally:{name}") or b""
            for symbol, (count,) in enumerate(struct.iter_unpack(">q", packed)):
                counts[symbol] += count
        return tuple(counts)

    def _members(self, key: str) -> frozenset[str]:
        return frozenset(member.decode() for member in self._ask(self._client.smembers, key))

    def _ask(self, command: Callable[..., Any], *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 as redis answers
        try:
            return command(*arguments, **options)
        except RedisError as error:
            raise _unavailable(error) from error

    def _run_script(self, arguments: tuple[bytes | str | int, ...]) -> bytes:
        """Run COUNT_UPLOAD on this thread's own connection.

        A connection of its own spares each upload the pool's bookkeeping, about a third of a worker's time. After a
        restart of the store the connection is stale: one more try is safe, because the upload id makes it so.
        """
        try:
            try:
                return self._send_script("EVALSHA", COUNT_UPLOAD_SHA, arguments)
            except (NoScriptError, RedisConnectionError):
                return self._send_script("EVAL", COUNT_UPLOAD, arguments)
        except RedisError as error:
            raise _unavailable(error) from error

    def _send_script(self, command: str, script: str, arguments: tuple[bytes | str | int, ...]) -> bytes:
        connection = self._own_connection()
        try:
            packed = hiredis.pack_command((command, script, *arguments))  # type: ignore[arg-type] # its stub takes one
            connection.send_packed_command((packed,))
            answer: bytes = connection.read_response()
        except redis.ResponseError:
            raise
        except BaseException:
            connection.disconnect()
            raise
        return answer

    def _own_connection(self) -> Any:  # noqa: ANN401 redis's connections share no public type
        connection = getattr(self._thread, "connection", None)
        if connection is None:
            connection = self._thread.connection = self._pool.connection_class(**self._pool.connection_kwargs)
        return connection


def _unavailable(error: RedisError) -> StoreUnavailableError:
    if isinstance(error, RedisConnectionError):
        return StoreUnavailableError(f"the store cannot be reached: {error}; is it running?")
    return StoreUnavailableError(f"the store did not do as asked: {error}")
