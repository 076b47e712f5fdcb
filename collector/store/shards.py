"""Sends commands to the shards of a store on Redis or Valkey, and detects lost shards.

A shard is one part of a store: keys that are always on the same server. One key of each shard
contains the store's name. In a shard that was emptied or replaced, the name is missing. Results
that combine all shards are then incomplete, so this module checks the names.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from redis.exceptions import AskError, ClusterDownError, RedisError, ResponseError

from collector.errors import ConfigError, StoreUnavailableError
from collector.redis_servers.connection import Connection, PackedCommand, even_when_full
from collector.redis_servers.connections import Answer, Connections
from collector.redis_servers.router import Answered, Router
from collector.redis_servers.server import Address, ask, info, setting
from collector.required_settings import ON_DISK, Promise
from collector.store import keys
from collector.store.count_script import COUNT_UPLOAD
from collector.store.facts import NAME_FIELD, NAMED_FIELD, SHARDS_FIELD, numbered
from collector.store.store_protocol import OwnEditions


class Logs:
    """The append-only files of all servers, including replicas.

    Until a rewrite, a file contains uploads in their order of arrival.
    """

    def __init__(self, connections: Connections) -> None:
        """Store the connections."""
        self._connections = connections
        self._waiting: set[Address] = set()

    def rewrite_log(self) -> bool:
        """Ask every server to rewrite its file. Servers that do not respond are skipped.

        Returns:
            Whether all servers that respond have begun the rewrite. False if a server is still busy
            with an earlier rewrite. The next call then asks only the servers that were busy.
        """
        servers = self._connections.servers()
        due = self._waiting.intersection(servers) or servers
        self._waiting = {address for address in due if self._ask(address, _is_busy)}
        return not self._waiting

    def log_rewrite_failed(self) -> bool:
        """Return whether the last rewrite failed on any server, for example on a full disk."""
        return any(self._ask(address, _has_failed) for address in self._connections.servers())

    def _ask(self, address: Address, query: Callable[[Connection], bool]) -> bool:
        """Call ``query`` with a connection to a server. Return False if there is no response."""
        with contextlib.suppress(RedisError), self._connections.briefly(address) as connection:
            return query(connection)
        return False


def _is_busy(connection: Connection) -> bool:
    """Ask a server to begin a rewrite, and return whether an earlier rewrite is still running."""
    if setting(connection, "appendonly") != "yes":
        return False
    try:
        ask(connection, "BGREWRITEAOF")
    except ResponseError:
        return True
    return False


def _has_failed(connection: Connection) -> bool:
    return info(connection, "persistence")["aof_last_bgrewrite_status"] != "ok"


Command: TypeAlias = Callable[[int], tuple[str | bytes | int, ...]]
"""A function that takes the number of a shard, and returns the command for it."""

SHARDS = 1
"""The number of shards of a new store on a single server. Existing stores keep their number."""

CLUSTER_SHARDS = 64
"""The number of shards of a new store on a cluster.

A store can use at most this many masters. More shards would make reading slower, because a tally is
the sum of one part in each shard.
"""

EDITIONS_A_COMMAND = 1000
"""The maximum number of editions that one command records.

The command is a script. A script accepts only a few thousand arguments.
"""


class Layout(NamedTuple):
    """The properties of a store that `prepare` has read. The workers receive them.

    Attributes:
        nodes: the addresses of the cluster's nodes. Empty if the store is not on a cluster.
        name: the store's name, chosen at random at first use. Empty if the name is unknown, or if
            the shards do not have the name yet.
    """

    shards: int = SHARDS
    nodes: tuple[Address, ...] = ()
    name: str = ""


ONE_SERVER = Layout()


class Shards:
    """Sends commands to one store.

    Every method that sends a command raises StoreUnavailableError if there is no response or the
    response is an error.

    The argument ``answered`` collects the servers that responded, for `confirm`. Until `confirm`
    has returned, a failover may undo the data that was read.

    Attributes:
        layout: the store's number of shards, its nodes and its name, if known.
        router: finds the server that has a key.
        number_of_new: the number of shards that a new store on these servers would get.
    """

    def __init__(
        self, url: str, promise: Promise = ON_DISK, *, is_cluster: bool = False, layout: Layout = ONE_SERVER
    ) -> None:
        """Store the server's URL. Nothing is sent before the first use.

        Args:
            url: the URL of the server, or of any node of the cluster.
            promise: how durably the store must keep a report before an acknowledgment.
            is_cluster: whether the server is a node of a cluster.
            layout: the layout of the store, if another process has already determined it.
        """
        self.layout = layout
        self._expected_name = layout.name
        self._connections = Connections(url, promise, is_cluster=is_cluster, set_up=self._set_up)
        self._connections.nodes = layout.nodes
        self.router = Router(self._connections, promise.copies)
        self.number_of_new = CLUSTER_SHARDS if is_cluster else SHARDS

    def disconnect(self) -> None:
        """Close this thread's connections. The next command opens new ones."""
        self._connections.drop_all()

    def expect_any(self) -> None:
        """Accept servers of any store until the next call of `adopt`."""
        self._expected_name = ""

    def adopt(self, facts: Mapping[str, str]) -> None:
        """Use the store with these properties, and from now on refuse every other store."""
        name = facts[NAME_FIELD] if NAMED_FIELD in facts else ""
        self.layout = self.layout._replace(shards=int(facts[SHARDS_FIELD]), name=name)
        self._expected_name = name

    def require_promise(self) -> None:
        """Check that every server is durable enough, and find the nodes of the cluster.

        Raises:
            ConfigError: if a server is too old or does not provide the required durability.
        """
        self._connections.require_promise()
        self.layout = self.layout._replace(nodes=self._connections.nodes)

    def run(self, shard: int, *command: str | bytes | int) -> Any:  # noqa: ANN401 the type depends on the command
        """Send a command for the keys of one shard, and return the response."""
        return self.router.ask(PackedCommand.packed(keys.prefix(shard), *command))

    def run_on_facts(self, *command: str | bytes | int) -> Any:  # noqa: ANN401 the type depends on the command
        """Send a command for the basic properties (see `keys.STORE`), and return the response."""
        return self.router.ask(PackedCommand.packed(keys.STORE, *command))

    def ask(self, shards: Iterable[int], command: Command, answered: Answered | None = None) -> list[Any]:
        """Send a command to the given shards, and return the responses in the order of the shards.

        All shards are asked, even after a failure. Unlike `ask_own`, this method does not check
        whether the shards still belong to the store.
        """
        return self._answers([PackedCommand.packed(keys.prefix(shard), *command(shard)) for shard in shards], answered)

    def ask_own(self, command: Command, answered: Answered | None = None) -> list[Any]:
        """Send a command to every shard, and return the responses in the order of the shards.

        Raises:
            StoreUnavailableError: if a shard does not respond, or no longer belongs to the store.
        """
        answers = self._answers(self._with_names(command), answered)
        # each shard was asked for its name after the command: if it has the name, it also had the
        # name when it responded to the command
        self._require_named(answers[1::2])
        return answers[::2]

    def confirm(self, answered: Answered) -> None:
        """Check that no failover can undo the data that was read.

        A master that was disconnected from the cluster keeps responding for a while, and may have
        data that no replica has. Therefore this method writes a key on each server that responded,
        over the same connection, and waits until the server's replicas have this write. The
        replicas then also have the data that was read.

        Raises:
            StoreUnavailableError: if the connection to a server that responded was closed, or its
                replicas do not have the data in time.
        """
        self.router.confirm(answered, keys.READ)

    def require_own(self, answered: Answered | None = None) -> None:
        """Check that no shard is lost. Data that was read before is then complete."""
        self._require_named(self.ask(range(self.layout.shards), _name_of, answered))

    def require_writable(self) -> None:
        """Check that at least one shard accepts writes and still belongs to the store."""
        answers = self.router.ask_all(
            self._with_names(lambda shard: ("SET", keys.of_shard(shard, keys.NEVER), "", "XX"))
        )
        refusals = {
            shard: answer for shard, answer in enumerate(answers[::2]) if isinstance(answer, StoreUnavailableError)
        }
        if len(refusals.keys() | set(self._lost(answers[1::2]))) < self.layout.shards:
            return
        if refusals:
            raise next(iter(refusals.values()))
        self._require_named(answers[1::2])

    def names(self, shards: int) -> list[str | None]:
        """Return the store name in each of the first ``shards`` shards. None means no name."""
        return [None if name is None else name.decode() for name in self.ask(range(shards), _name_of)]

    def name(self, shards: Sequence[int], name: str) -> None:
        """Write the store's name to each given shard that has no name."""
        self.ask(shards, lambda shard: even_when_full("SET", keys.of_shard(shard, keys.NAME), name, "NX"))

    def facts(self) -> dict[str, str]:
        """Return the store's basic properties (see `keys.STORE`). An unused store has none."""
        return _decoded(self.run_on_facts("HGETALL", keys.STORE))

    def own_editions(self) -> dict[str, str]:
        """Return the store's record of all editions that its collectors have ever accepted.

        If a failover loses the record of an edition, the edition's tallies are hidden, unless the
        registry defines the edition (see `strata`).
        """
        return _decoded(self.router.ask(PackedCommand.packed(keys.EDITIONS, "HGETALL", keys.EDITIONS)))

    def remember_editions(self, editions: OwnEditions) -> None:
        """Add editions to the store's permanent record. Recorded entries are skipped."""
        fresh = sorted(editions.items() - self.own_editions().items())
        for start in range(0, len(fresh), EDITIONS_A_COMMAND):
            words = [word for pair in fresh[start : start + EDITIONS_A_COMMAND] for word in pair]
            self.router.ask(PackedCommand.packed(keys.EDITIONS, *even_when_full("HSET", keys.EDITIONS, *words)))

    def index(self, answered: Answered | None = None) -> dict[str, int]:
        """Return each tally's number of symbols, keyed by the name METRIC:EDITION:WINDOW."""
        index: dict[str, int] = {}
        for flat in self.ask_own(lambda shard: ("HGETALL", keys.of_shard(shard, keys.TALLIES)), answered):
            index |= {name: int(symbols) for name, symbols in _decoded(flat).items()}
        return index

    def is_indexed(self, name: str) -> bool:
        """Return whether the index contains a tally, METRIC:EDITION:WINDOW.

        A tally is removed from the index before its counts are deleted. If the index contains the
        tally, counts that were read before this call are complete.
        """
        return any(
            self.ask(range(self.layout.shards), lambda shard: ("HEXISTS", keys.of_shard(shard, keys.TALLIES), name))
        )

    def ask_servers(self, query: Callable[[Connection], Answer]) -> list[Answer]:
        """Call ``query`` with a new connection to each server, including replicas."""
        return self._connections.ask_every_server(query)

    def logs(self) -> Logs:
        """Return the append-only files of the store's servers."""
        return Logs(self._connections)

    def _set_up(self, connection: Connection) -> None:
        """Prepare a new connection: check the store's name, and load the counting script.

        Raises:
            ConfigError: if the server has another store, or an empty store.
            RedisError: if the server does not respond.
        """
        if self._expected_name and not _may_have_name(connection, self._expected_name):
            raise ConfigError(
                "the store is not the one that this collector started with: it was emptied or replaced. Bring "
                "the original store back, or restart the collector if it is meant to use this store"
            )
        ask(connection, "SCRIPT", "LOAD", COUNT_UPLOAD)

    def _answers(self, requests: Sequence[PackedCommand], answered: Answered | None) -> list[Any]:
        answers = self.router.ask_all(requests, answered)
        for answer in answers:
            if isinstance(answer, StoreUnavailableError):
                raise answer
        return answers

    def _with_names(self, command: Command) -> list[PackedCommand]:
        """Return two commands for each shard: ``command``, and a query for the shard's name."""
        return [
            PackedCommand.packed(keys.prefix(shard), *words)
            for shard in range(self.layout.shards)
            for words in (command(shard), _name_of(shard))
        ]

    def _lost(self, shard_names: Sequence[bytes | None]) -> list[int]:
        """Return the shards that do not have the store's name. Empty if the name is unknown."""
        expected = self.layout.name.encode()
        return [shard for shard, name in enumerate(shard_names) if expected and name != expected]

    def _require_named(self, shard_names: Sequence[bytes | None]) -> None:
        lost = self._lost(shard_names)
        if lost:
            raise StoreUnavailableError(
                f"the store that this collector started with has lost {numbered(lost)}, which were emptied or "
                "replaced; bring the original shards back, or restart the collector, which then says what to do"
            )


def _name_of(shard: int) -> tuple[str, str]:
    return "GET", keys.of_shard(shard, keys.NAME)


def _decoded(flat: Sequence[bytes]) -> dict[str, str]:
    """Return a dictionary from a server's hash, a list in which names and values alternate."""
    return {name.decode(): value.decode() for name, value in zip(flat[::2], flat[1::2], strict=True)}


def _may_have_name(connection: Connection, name: str) -> bool:
    """Return whether the server's store may be named ``name``.

    Return True if another node of the cluster stores the name.
    """
    try:
        found: object = ask(connection, "HGET", keys.STORE, NAME_FIELD)
    except (AskError, ClusterDownError):
        # another node has the key, or the node that had the key is lost
        return True
    return found == name.encode()
