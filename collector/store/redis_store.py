"""The tally store on a Redis or Valkey server, or on a cluster of them.

One upload is one script on one hash slot: it looks the upload id up, counts every report and remembers which, or does
none of it. `keys` says what is kept where, `router` which server has it, `connections` what each must promise.
"""

from __future__ import annotations

import json
import secrets
import struct
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from redis.exceptions import RedisError

from client_sdk.protocol import Window
from collector.durability import ON_DISK, Promise
from collector.errors import ConfigError, QuotaExceededError, StoreUnavailableError
from collector.judge import Judgement
from collector.store.reading import Reading
from collector.servers.command import Request, even_when_full
from collector.servers.connection import Connection
from collector.servers.connections import Connections
from collector.servers.pipeline import unavailable
from collector.servers.router import Router
from collector.store import keys
from collector.store.count_script import count_request, read_answer
from collector.store.log_rewrite import Logs
from collector.store.port import Counted, Outcome, Snapshot, Tally
from collector.store.schema import (
    GRACE_FIELD,
    NAME_FIELD,
    NAMED,
    NAMED_FIELD,
    SCHEMA,
    SCHEMA_FIELD,
    SHARDS_FIELD,
    Purpose,
    require_usable,
)
from collector.store.shard_identity import require_facts, shards_to_name
from collector.store.shards import CLUSTER_SHARDS, ONE_SERVER, SHARDS, Layout, Shards

NAME_BYTES = 8
"""Enough that no two stores have the same name."""

Asked = TypeVar("Asked")


class RedisStore:
    """A TallyStore on a Redis or Valkey server or cluster."""

    def __init__(
        self, url: str, promise: Promise = ON_DISK, *, is_cluster: bool = False, layout: Layout = ONE_SERVER
    ) -> None:
        """Name the server; nothing is sent before the first use.

        Args:
            url: where the server listens, or any node of the cluster.
            promise: what an acknowledgement promises.
            is_cluster: whether the server is a node of a cluster.
            layout: what is known of the store; ``prepare`` finds out.

        Raises:
            ConfigError: if the URL is none.

        """
        self._connections = Connections(url, promise, is_cluster=is_cluster)
        self._router = Router(self._connections, promise.copies)
        self._router.learn(layout.nodes)
        self._shards = Shards(self._router)
        self._connections.expect(layout.name)
        self._is_cluster = is_cluster
        self.layout = layout

    @property
    def shards(self) -> int:
        """How many shards the store was made with."""
        return self.layout.shards

    def disconnect(self) -> None:
        """Close this thread's connections; another use opens them again."""
        self._connections.drop_all()

    def prepare(self, purpose: Purpose = Purpose.USE) -> None:
        """Make the store ready: agree on schema and shards, and make sure that every server keeps the promise.

        Raises:
            ConfigError: if the store is of another schema, too old, cannot keep the promise, has a part of a backup, or
                has lost shards.
            StoreUnavailableError: if it does not answer.

        """
        self._connections.expect("")
        self.require_promise()
        borne = self.shard_names(self.shards_of_new)
        require_facts(self.facts(), borne)
        for field, value in (
            (SCHEMA_FIELD, SCHEMA),
            (SHARDS_FIELD, self.shards_of_new),
            (NAME_FIELD, secrets.token_hex(NAME_BYTES)),
        ):
            self.tell(*even_when_full("HSETNX", keys.STORE, field, value))
        facts = self.facts()
        require_usable(facts, purpose)
        self._have_shards_named(facts)
        self.adopt({**facts, NAMED_FIELD: NAMED})

    @property
    def shards_of_new(self) -> int:
        """How many shards a store gets here that is new."""
        return CLUSTER_SHARDS if self._is_cluster else SHARDS

    def _have_shards_named(self, facts: Mapping[str, str]) -> None:
        """Have every shard bear the store's name, unless that was done before and some have lost it since.

        Another collector may do the same at the same time: both write the same name.
        """
        unnamed = shards_to_name(facts, self.shard_names(int(facts[SHARDS_FIELD])))
        self.name_shards(unnamed, facts[NAME_FIELD])
        self.tell(*even_when_full("HSET", keys.STORE, NAMED_FIELD, NAMED))

    def adopt(self, facts: Mapping[str, str]) -> None:
        """Take a store as what it says of itself, and nothing else from now on."""
        name = facts[NAME_FIELD] if NAMED_FIELD in facts else ""
        self.layout = self.layout._replace(shards=int(facts[SHARDS_FIELD]), name=name)
        self._connections.expect(name)

    def shard_names(self, shards: int) -> list[str | None]:
        """Return the name of a store that each shard bears, if any."""
        return self._shards.names(shards)

    def name_shards(self, shards: Sequence[int], name: str) -> None:
        """Have those of some shards that bear no name bear one from now on."""
        self._shards.name(shards, name)

    def require_own(self) -> None:
        """Make sure that every shard is still the store's own: what was read before was then whole.

        Raises:
            StoreUnavailableError: if any is not.

        """
        self._shards.require_own(self.layout)

    def facts(self) -> dict[str, str]:
        """Return what the store says of itself; nothing if it was never used."""
        flat = self._ask(keys.STORE, "HGETALL", keys.STORE)
        return {name.decode(): value.decode() for name, value in zip(flat[::2], flat[1::2], strict=True)}

    def require_promise(self) -> None:
        """Make sure that every server keeps the promise, and learn where they are.

        Raises:
            ConfigError: if one is too old, or cannot keep it.
            StoreUnavailableError: if one does not answer.

        """
        try:
            self._connections.open(None).close()
            servers = self._connections.servers(self.layout.nodes)
            if self._is_cluster:
                for address in servers:
                    self._connections.open(address).close()
        except RedisError as error:
            raise unavailable(error) from error
        self.layout = self.layout._replace(nodes=tuple(servers) if self._is_cluster else ())
        self._router.learn(self.layout.nodes)

    def agree_on_grace(self, grace_s: int) -> None:
        """Keep the grace with which ids are remembered.

        Raises:
            ConfigError: if it is longer than before while windows are open: their ids would be forgotten before they
                close, and an upload that comes again could be counted twice.

        """
        before = self._ask(keys.STORE, "HGET", keys.STORE, GRACE_FIELD)
        open_windows = self.tallied_windows() - self.closed_windows()
        if before is not None and int(before) < grace_s and open_windows:
            raise ConfigError(
                f"--grace can grow from {int(before)} seconds only when no window with reports is open; "
                f"open are: {', '.join(sorted(open_windows))}"
            )
        self.tell(*even_when_full("HSET", keys.STORE, GRACE_FIELD, grace_s))

    def count(self, judgement: Judgement) -> Counted:
        """See TallyStore."""
        while True:
            request = count_request(judgement, self.layout.shards, self.layout.name)
            outcome = read_answer(self._router.ask(request), judgement)
            if isinstance(outcome, QuotaExceededError):
                raise outcome
            if isinstance(outcome, Counted):
                return outcome
            judgement = judgement.without(outcome)  # of fewer windows each time, for none opens again

    def count_all(self, judgements: Sequence[Judgement]) -> list[Outcome]:
        """See TallyStore."""
        outcomes: dict[int, Outcome] = {}
        pending = dict(enumerate(judgements))
        while pending:
            requests = [count_request(judgement, self.shards, self.layout.name) for judgement in pending.values()]
            late = {}
            for (index, judgement), answer in zip(pending.items(), self._router.ask_all(requests), strict=True):
                outcome = answer if isinstance(answer, StoreUnavailableError) else read_answer(answer, judgement)
                if isinstance(outcome, frozenset):
                    late[index] = judgement.without(outcome)
                else:
                    outcomes[index] = outcome
            pending = late
        return [outcomes[index] for index in range(len(judgements))]

    def close(self, window: Window) -> None:
        """See TallyStore; where a shard cannot be reached, the others close it, and it is not closed yet."""
        closing = Reading(self._router)  # who closed it before may not have waited until replicas knew
        Shards(closing).ask_own(
            self.layout, lambda shard: even_when_full("SADD", keys.of_shard(shard, keys.CLOSED), window.text)
        )
        closing.confirm()

    def closed_windows(self) -> frozenset[str]:
        """See TallyStore; a window is closed when every shard has closed it."""
        return frozenset.intersection(*self._members(self._shards, keys.CLOSED))

    def tallied_windows(self) -> frozenset[str]:
        """See TallyStore."""
        return frozenset().union(*self._members(self._shards, keys.WINDOWS))

    def closed_tallies(self, closed: frozenset[str]) -> Iterator[Tally]:
        """See TallyStore."""
        reading = Reading(self._router)  # a master that was lost since may have said that they are closed
        still_closed = closed.intersection(*self._members(Shards(reading), keys.CLOSED))
        yield from self._tallies(lambda window: window in still_closed, closed=True)
        reading.confirm()

    def open_snapshot(self, interval_s: int, left_out: frozenset[str], now_s: float) -> Snapshot:
        """See TallyStore; every collector on the store shares one look."""
        tag = keys.prefix(0)
        reading = Reading(self._router)
        look_up = Request.of(tag, "GET", keys.SNAPSHOT)
        kept = reading.ask(look_up)
        if kept is None:
            tallies = [
                (tally.metric, tally.edition, tally.window, tally.counts)
                for tally in self._tallies(lambda window: window not in left_out, closed=False)
            ]
            fresh = json.dumps({"taken_s": int(now_s), "tallies": tallies})
            self._ask(tag, *even_when_full("SET", keys.SNAPSHOT, fresh, "NX", "EX", interval_s))
            kept = reading.ask(look_up) or fresh
        reading.confirm()
        look = json.loads(kept)
        tallies_of_look = (
            Tally(metric, edition, window, closed=False, counts=tuple(counts))
            for metric, edition, window, counts in look["tallies"]
        )
        return Snapshot(look["taken_s"], tuple(tallies_of_look)).without(left_out)

    def require_writable(self) -> None:
        """See TallyStore; a write that changes nothing is refused as any other is."""
        self._shards.require_any_writable(self.layout)

    def logs(self) -> Logs:
        """Return the append-only files of the store's servers."""
        return Logs(self._connections, self.layout.nodes)

    def run(self, shard: int, *command: str | bytes | int) -> Any:  # noqa: ANN401 as redis answers
        """Return the answer to a command on a shard's keys: for what is done to a store in modules beside this one.

        Raises:
            StoreUnavailableError: if there is none, or an error.

        """
        return self._ask(keys.prefix(shard), *command)

    def tell(self, *command: str | bytes | int) -> Any:  # noqa: ANN401 as redis answers
        """Return the answer to a command on the store's facts, as `run` does."""
        return self._ask(keys.STORE, *command)

    def ask_servers(self, question: Callable[[Connection], Asked]) -> list[Asked]:
        """Return what every server of the store answers to a question, replicas too; each is connected to anew.

        Raises:
            StoreUnavailableError: if any does not.

        """
        answers = []
        try:
            for address in self._connections.servers(self.layout.nodes):
                with self._connections.briefly(address) as connection:
                    answers.append(question(connection))
        except RedisError as error:
            raise unavailable(error) from error
        return answers

    def index(self) -> dict[str, int]:
        """Return every tally's name, METRIC:EDITION:WINDOW, and its number of symbols."""
        return self._index(self._shards)

    def _index(self, shards: Shards) -> dict[str, int]:
        index: dict[str, int] = {}
        for flat in shards.ask_own(self.layout, lambda shard: ("HGETALL", keys.of_shard(shard, keys.TALLIES))):
            index |= {name.decode(): int(symbols) for name, symbols in zip(flat[::2], flat[1::2], strict=True)}
        return index

    def _tallies(self, wanted: Callable[[str], bool], *, closed: bool) -> Iterator[Tally]:
        reading = Reading(self._router)
        shards = Shards(reading)
        for name, symbols in sorted(self._index(shards).items()):
            metric, edition, window = name.split(":")
            if wanted(window):
                tally = Tally(metric, edition, window, closed, self._counts(shards, name, symbols))
                if self.is_indexed(name):  # or it is being retired, and these may be half its counts
                    yield tally
        shards.require_own(self.layout)  # or one may have been lost meanwhile
        reading.confirm()  # who reads to the end knows that all was whole, and stays so

    def is_indexed(self, name: str) -> bool:
        """Whether a tally, METRIC:EDITION:WINDOW, is there; if so, its counts were whole when they were read before."""
        return any(
            self._shards.ask(range(self.shards), lambda shard: ("HEXISTS", keys.of_shard(shard, keys.TALLIES), name))
        )

    def _counts(self, shards: Shards, name: str, symbols: int) -> tuple[int, ...]:
        counts = [0] * symbols
        for packed in shards.ask(range(self.shards), lambda shard: ("GET", keys.tally(shard, name))):
            for symbol, (count,) in enumerate(struct.iter_unpack(">q", packed or b"")):
                counts[symbol] += count
        return tuple(counts)

    def _members(self, shards: Shards, name: str) -> Iterator[frozenset[str]]:
        """Yield the members of a set, shard by shard."""
        for members in shards.ask_own(self.layout, lambda shard: ("SMEMBERS", keys.of_shard(shard, name))):
            yield frozenset(member.decode() for member in members)

    def _ask(self, tag: str, *command: str | bytes | int) -> Any:  # noqa: ANN401 as redis answers
        return self._router.ask(Request.of(tag, *command))
