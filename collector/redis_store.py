"""The tally store on Redis or Valkey: keys, scripts and connections. The only importer of redis.

One upload is one script on one hash slot: it looks the upload id up, remembers its verdict and counts every report, or
does none of it. Keys of a shard share the hash tag ``{shard}``; the shard is a function of the upload id.

==========================================  =======================================================================
``hearsay:store``                           hash: schema version and number of shards, written at first use
``{shard}:ids:END:PATH``                    hash: the raw upload id -> packed verdict; a bucket (see count_upload)
``{shard}:tally:METRIC:EDITION:WINDOW``     packed signed 64-bit counters, big-endian, one a symbol
``{shard}:tallies``                         hash: METRIC:EDITION:WINDOW -> number of symbols
``{shard}:closed``                          set: names of closed windows
``{0}:snapshot``                            NDJSON: the last look at open windows
==========================================  =======================================================================

Nothing holds an address, a receive time or an order.
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

    def __init__(self, url: str) -> None:
        """Name the server; nothing is sent before the first use.

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
        self._shards = SHARDS

    def disconnect(self) -> None:
        """Close this thread's connections and the pool's; another use opens them again."""
        connection = getattr(self._thread, "connection", None)
        if connection is not None:
            connection.disconnect()
        self._pool.disconnect()

    def prepare(self, durability: Durability) -> None:
        """Make the store ready: agree on schema and shards, and make sure that it keeps the promise.

        Raises:
            ConfigError: if the store is of another schema, or cannot keep the promise.
            StoreUnavailableError: if it does not answer.

        """
        found = self._ask(self._agree_on_schema)
        if found[b"schema"] != SCHEMA:
            raise ConfigError(f"the store has schema {found[b'schema'].decode()}, this version reads {SCHEMA.decode()}")
        self._shards = int(found[b"shards"])
        if durability is Durability.FSYNC:
            self._require_fsync()

    def count(self, judgement: Judgement) -> Verdict:
        """See TallyStore."""
        shard = int(judgement.upload[-8:], 16) % self._shards
        tag = f"{{{shard}}}:"
        keys = [f"{tag}ids:{judgement.latest_end}:", f"{tag}closed", f"{tag}tallies"]
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
        for shard in range(self._shards):
            self._ask(self._client.sadd, f"{{{shard}}}:closed", window.text)

    def closed_windows(self) -> frozenset[str]:
        """See TallyStore; a window is closed when every shard has closed it."""
        return frozenset.intersection(*(self._members(f"{{{shard}}}:closed") for shard in range(self._shards)))

    def tallied_windows(self) -> frozenset[str]:
        """See TallyStore."""
        return frozenset(name.rpartition(":")[2] for name in self._index())

    def closed_tallies(self) -> Iterator[Tally]:
        """See TallyStore."""
        closed = self.closed_windows()
        return self._tallies(lambda window: window in closed, closed=True)

    def open_snapshot(self, interval_s: int) -> Iterator[Tally]:
        """See TallyStore; every collector on the store shares one look."""
        snapshot = self._ask(self._client.get, SNAPSHOT_KEY)
        if snapshot is None:
            closed = self.closed_windows()
            tallies = [
                (tally.metric, tally.edition, tally.window, tally.counts)
                for tally in self._tallies(lambda window: window not in closed, closed=False)
            ]
            fresh = json.dumps(tallies)
            self._ask(self._client.set, SNAPSHOT_KEY, fresh, nx=True, ex=interval_s)
            snapshot = self._ask(self._client.get, SNAPSHOT_KEY) or fresh
        closed_since = self.closed_windows()
        for metric, edition, window, counts in json.loads(snapshot):
            if window not in closed_since:
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

    def _agree_on_schema(self) -> dict[Any, Any]:
        self._client.hsetnx(STORE_KEY, "schema", SCHEMA)
        self._client.hsetnx(STORE_KEY, "shards", str(SHARDS))
        found: dict[Any, Any] = self._client.hgetall(STORE_KEY)
        return found

    def _require_fsync(self) -> None:
        found = self._ask(self._client.config_get, "appendonly", "appendfsync")
        if found != {"appendonly": "yes", "appendfsync": "always"}:
            raise ConfigError(
                "the store does not write through before it answers (it says "
                f"appendonly {found.get('appendonly')}, appendfsync {found.get('appendfsync')}): set 'appendonly yes' "
                "and 'appendfsync always' on it, or accept that a crash of the store loses acknowledged reports with "
                "--durability memory"
            )

    def _index(self) -> dict[str, int]:
        """Return every tally's name and its number of symbols."""
        found: dict[str, int] = {}
        for shard in range(self._shards):
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
        for shard in range(self._shards):
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
            except NoScriptError:
                return self._send_script("EVAL", COUNT_UPLOAD, arguments)
            except RedisConnectionError:
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
    return StoreUnavailableError(f"the store did not do as asked: {error}")
