"""The handle on a store on Redis or Valkey: commands to its shards, its facts and its servers.

`RedisStore` counts and reads through it. Whatever else is done to a store (preparing, backup,
retirement, checks) uses the handle directly.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from collector.redis_servers.command import PackedCommand, even_when_full
from collector.redis_servers.connection import Connection
from collector.redis_servers.connections import Connections
from collector.redis_servers.every_server import Answer, ask_every_server, require_promise
from collector.redis_servers.log_rewrite import Logs
from collector.redis_servers.router import Router
from collector.required_settings import ON_DISK, Promise
from collector.store import keys
from collector.store.connection_setup import ConnectionSetup
from collector.store.schema import NAME_FIELD, NAMED_FIELD, SHARDS_FIELD
from collector.store.shards import CLUSTER_SHARDS, ONE_SERVER, SHARDS, Layout, Shards
from collector.store.store_protocol import OwnEditions

EDITIONS_A_COMMAND = 1000
"""A script takes some thousands of arguments, and a registry may have more editions."""


class StoreHandle:
    """Sends commands to one store.

    Attributes:
        layout: what is known of the store.
        router: finds the server that has a key.

    """

    def __init__(
        self, url: str, promise: Promise = ON_DISK, *, is_cluster: bool = False, layout: Layout = ONE_SERVER
    ) -> None:
        """Name the server; nothing is sent before the first use.

        Args:
            url: where the server listens, or any node of the cluster.
            promise: what an acknowledgement promises.
            is_cluster: whether the server is a node of a cluster.
            layout: what is known of the store; `prepare` finds out.

        Raises:
            ConfigError: if the URL is not valid.

        """
        self._setup = ConnectionSetup(layout.name)
        self._connections = Connections(url, promise, is_cluster=is_cluster, set_up=self._setup)
        self._is_cluster = is_cluster
        self.router = Router(self._connections, promise.copies)
        self.router.learn(layout.nodes)
        self.layout = layout
        self._shards = Shards(self.router)

    @property
    def shards(self) -> int:
        """The number of shards that the store was created with."""
        return self.layout.shards

    @property
    def shards_of_new(self) -> int:
        """The number of shards that a new store gets here."""
        return CLUSTER_SHARDS if self._is_cluster else SHARDS

    def disconnect(self) -> None:
        """Close this thread's connections; the next command opens them again."""
        self._connections.drop_all()

    def expect_any(self) -> None:
        """Accept servers of any store until the next call of `adopt`."""
        self._setup.expected_name = ""

    def adopt(self, facts: Mapping[str, str]) -> None:
        """Use the store that these facts describe, and refuse any other from now on."""
        name = facts[NAME_FIELD] if NAMED_FIELD in facts else ""
        self.layout = self.layout._replace(shards=int(facts[SHARDS_FIELD]), name=name)
        self._setup.expected_name = name

    def require_promise(self) -> None:
        """Make sure that every server keeps the promise, and learn where the servers are.

        Raises:
            ConfigError: if a server is too old or cannot keep the promise.
            StoreUnavailableError: if a server does not answer.

        """
        nodes = require_promise(self._connections, self.layout.nodes, is_cluster=self._is_cluster)
        self.layout = self.layout._replace(nodes=nodes)
        self.router.learn(self.layout.nodes)

    def require_own(self) -> None:
        """Make sure that every shard still belongs to the store; then earlier reads were complete.

        Raises:
            StoreUnavailableError: if a shard does not.

        """
        self._shards.require_own(self.layout)

    def shard_names(self, shards: int) -> list[str | None]:
        """Return the store name that each shard carries, or None for a shard without a name."""
        return self._shards.names(shards)

    def name_shards(self, shards: Sequence[int], name: str) -> None:
        """Write the store's name to those of the given shards that carry none."""
        self._shards.name(shards, name)

    def facts(self) -> dict[str, str]:
        """Return the store's facts (see `keys.STORE`). They are empty if it was never used."""
        flat = self.run_on_facts("HGETALL", keys.STORE)
        return {name.decode(): value.decode() for name, value in zip(flat[::2], flat[1::2], strict=True)}

    def run(self, shard: int, *command: str | bytes | int) -> Any:  # noqa: ANN401 the server decides
        """Return the answer to a command on the keys of one shard.

        Raises:
            StoreUnavailableError: if there is no answer, or the answer is an error.

        """
        return self.router.ask(PackedCommand.of(keys.prefix(shard), *command))

    def run_on_facts(self, *command: str | bytes | int) -> Any:  # noqa: ANN401 the server decides
        """Return the answer to a command on the store's facts; see `run`."""
        return self.router.ask(PackedCommand.of(keys.STORE, *command))

    def own_editions(self) -> dict[str, str]:
        """Return what the store remembers of all editions that were ever served; see `strata`."""
        flat = self.router.ask(PackedCommand.of(keys.EDITIONS, "HGETALL", keys.EDITIONS))
        return {edition.decode(): own.decode() for edition, own in zip(flat[::2], flat[1::2], strict=True)}

    def remember_editions(self, editions: OwnEditions) -> None:
        """Remember editions for good; those that are remembered stay as they are."""
        fresh = sorted(editions.items() - self.own_editions().items())
        for start in range(0, len(fresh), EDITIONS_A_COMMAND):
            words = [word for pair in fresh[start : start + EDITIONS_A_COMMAND] for word in pair]
            self.router.ask(PackedCommand.of(keys.EDITIONS, *even_when_full("HSET", keys.EDITIONS, *words)))

    def ask_servers(self, question: Callable[[Connection], Answer]) -> list[Answer]:
        """Return the answer of every server, replicas included, each over a new connection.

        Raises:
            StoreUnavailableError: if a server does not answer.

        """
        return ask_every_server(self._connections, self.layout.nodes, question)

    def logs(self) -> Logs:
        """Return the append-only files of the store's servers."""
        return Logs(self._connections, self.layout.nodes)

    def index(self, shards: Shards | None = None) -> dict[str, int]:
        """Return the number of symbols of every tally by its name, METRIC:EDITION:WINDOW.

        Args:
            shards: asks the shards, for reads that are confirmed later. None asks as for any other
                command.

        """
        index: dict[str, int] = {}
        reader = self._shards if shards is None else shards
        for flat in reader.ask_own(self.layout, lambda shard: ("HGETALL", keys.of_shard(shard, keys.TALLIES))):
            index |= {name.decode(): int(symbols) for name, symbols in zip(flat[::2], flat[1::2], strict=True)}
        return index

    def is_indexed(self, name: str) -> bool:
        """Return whether a tally, METRIC:EDITION:WINDOW, is in the index.

        If it is, counts of it that were read before this call were complete.
        """
        is_in = self._shards.ask(
            range(self.shards), lambda shard: ("HEXISTS", keys.of_shard(shard, keys.TALLIES), name)
        )
        return any(is_in)
