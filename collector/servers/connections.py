"""Connections to the servers of a store, each known to keep the promise. All that redis is told of servers is here.

A thread has a connection of its own to each server that it counts on: that spares each upload a pool's bookkeeping,
about a third of a worker's time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import redis
from redis.crc import key_slot
from redis.exceptions import AskError, ClusterDownError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from collector.durability import IN_MEMORY, Durability, Promise
from collector.errors import ConfigError
from collector.servers import server
from collector.servers.connection import Connection
from collector.servers.server import Address, Replicas
from collector.store import keys
from collector.store.count_script import COUNT_UPLOAD
from collector.store.schema import NAME_FIELD
from collector.text import plural

CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 5.0
"""A write that is not on disk within five seconds is a sick disk: better a 503 and another try."""

AVOIDED_S = 2.0
"""Seconds for which a server that did not answer in time is asked by one thread only: the others have better to do."""


Measured = TypeVar("Measured")


class _OfAThread(dict[Address, Connection]):
    """The connections of one thread, which end with it, and not when they happen to be collected."""

    def __del__(self) -> None:
        """Close them."""
        for connection in self.values():
            connection.close()


class Connections:
    """Opens connections to a store's servers, and keeps one a thread and server."""

    def __init__(self, url: str, promise: Promise, *, is_cluster: bool) -> None:
        """Name a server; nothing is sent before the first use.

        Args:
            url: where the server listens; the others of a cluster take the same user, password and certificates.
            promise: what every server must keep.
            is_cluster: whether it is a node of a cluster.

        Raises:
            ConfigError: if the URL is none.

        """
        try:
            pool = redis.ConnectionPool.from_url(
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
        self._class = pool.connection_class
        self._settings = pool.connection_kwargs
        self._promise = promise
        self._is_cluster = is_cluster
        self._expected = ""
        self._thread = threading.local()
        self._avoided_until: dict[Address, float] = {}

    def expect(self, name: str) -> None:
        """Refuse, from now on, servers that hold a store of another name, or an empty one."""
        self._expected = name

    def own(self, address: Address) -> Connection:
        """Return this thread's connection to a server, opened if need be.

        Raises:
            RedisError: if the server does not answer.
            ConfigError: if it would not keep the promise.

        """
        connections = self._own()
        connection = connections.get(address)
        if connection is None:
            self._require_not_avoided(address)
            try:
                connection = connections[address] = self.open(address)
            except RedisTimeoutError:
                self.avoid(address)
                raise
            self._avoided_until.pop(address, None)
        return connection

    def opened(self, address: Address) -> Connection | None:
        """Return this thread's connection to a server if there is one."""
        return self._own().get(address)

    def drop(self, address: Address) -> None:
        """Close this thread's connection to a server; another use opens and checks it again."""
        connection = self._own().pop(address, None)
        if connection is not None:
            connection.close()

    def drop_all(self) -> None:
        """Close all connections of this thread."""
        for address in list(self._own()):
            self.drop(address)

    def avoid(self, address: Address) -> None:
        """Have a server that did not answer in time asked by one thread at a time until it answers."""
        self._avoided_until[address] = time.monotonic() + AVOIDED_S

    def connect(self, address: Address) -> Connection:
        """Return a new connection to a server, whatever it promises."""
        place = {} if address is None else {"host": address[0], "port": address[1]}
        opened = self._class(**self._settings | place)
        opened.connect()
        return Connection(opened, ANSWER_TIMEOUT_S)

    def open(self, address: Address) -> Connection:
        """Return a new connection to a server that keeps the promise and knows the script.

        Raises:
            RedisError: if the server does not answer.
            ConfigError: if it would not keep the promise.

        """
        connection = self.connect(address)
        try:
            server.require_kept(connection, self._promise, is_cluster=self._is_cluster)
            if self._promise.copies:
                self._require_copies(connection, address)
            if self._expected:
                self._require_expected(connection)
            server.ask(connection, "SCRIPT", "LOAD", COUNT_UPLOAD)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_replicated(self) -> bool:
        """Whether replicas may take over that must have what is read; where memory is enough, nobody counts on them."""
        return bool(self._promise.copies) or (self._is_cluster and self._promise.durability is not Durability.MEMORY)

    def replicas_to_confirm(self, connection: Connection, tag: str) -> Replicas:
        """Return the replicas that must have what a server answered about the shard of a tag: no fewer than promised.

        More than were promised must have it, for any of them may be the one that takes over.
        """
        if not self._is_cluster:
            return Replicas(self._promise.copies)
        listed = server.replicas_of_slot(connection, key_slot(tag.encode()))
        return listed._replace(number=max(self._promise.copies, listed.number))

    def redirected(self, asked: Address, error: AskError) -> Address:
        """Return where a server says that a slot is, or is going to; an empty host is its own."""
        host, port = error.node_addr
        return host or self._host_of(asked), port

    def servers(self, known: Sequence[Address]) -> list[Address]:
        """Return all servers of the store, replicas too; any that is known is asked.

        Raises:
            RedisError: if none of them answers.

        """
        for address in known:
            with contextlib.suppress(RedisError), self.briefly(address) as connection:
                return self._beside(connection, address)
        with self.briefly(None) as connection:
            return self._beside(connection, None)

    def _beside(self, connection: Connection, address: Address) -> list[Address]:
        if self._is_cluster:
            return server.nodes(connection, self._host_of(address), by_tls=issubclass(self._class, redis.SSLConnection))
        return [None, *(server.replicas(connection) or ())]

    @contextlib.contextmanager
    def briefly(self, address: Address) -> Iterator[Connection]:
        """Connect to a server while the context is entered, whatever it promises."""
        connection = self.connect(address)
        try:
            yield connection
        finally:
            connection.close()

    def _host_of(self, address: Address) -> str:
        host: str = self._settings["host"] if address is None else address[0]
        return host

    def _own(self) -> dict[Address, Connection]:
        connections: dict[Address, Connection] | None = getattr(self._thread, "connections", None)
        if connections is None:
            connections = self._thread.connections = _OfAThread()
        return connections

    def _require_not_avoided(self, address: Address) -> None:
        until = self._avoided_until.get(address)
        if until is None:
            return
        if time.monotonic() < until:
            raise RedisConnectionError("it has just not answered in time")
        self.avoid(address)  # by the other threads, while this one tries

    def _require_expected(self, connection: Connection) -> None:
        """Refuse a server whose store is not the one that was agreed on; elsewhere its shards tell."""
        try:
            found = server.ask(connection, "HGET", keys.STORE, NAME_FIELD)
        except (AskError, ClusterDownError):  # another node would have to tell, or one that is lost
            return
        if found != self._expected.encode():
            raise ConfigError(
                "the store is not the one that this collector began with: it is empty, or another was put in its "
                "place; bring the first one back, or start the collector anew if it is meant to use this one"
            )

    def _require_copies(self, connection: Connection, address: Address) -> None:
        """Refuse a server of which too few replicas can be asked, or any would not keep the promise."""
        replicas = server.replicas(connection)
        if replicas is None:
            return
        kept = 0
        for replica in replicas:
            with contextlib.suppress(RedisError), self.briefly(replica) as other:
                server.require_kept(other, self._promise, is_cluster=self._is_cluster)
                kept += 1
        if kept < self._promise.copies:
            where = "the store" if address is None else f"{address[0]}:{address[1]}"
            raise ConfigError(
                f"{where} has {plural(kept, 'replica')} in step; --copies {self._promise.copies} needs as many: "
                "start more, or promise fewer"
            )


def answers(url: str) -> bool:
    """Whether a server answers, whatever it promises."""
    return before_an_answer(url, lambda: True) is not None


def before_an_answer(url: str, measure: Callable[[], Measured]) -> Measured | None:
    """Return what is measured while one server process runs that answers afterwards; none if it does not.

    What it wrote before it was measured it has by then written whole, and to disk where it writes through.
    """
    connections = Connections(url, IN_MEMORY, is_cluster=False)
    try:
        with connections.briefly(None) as connection:
            server.ask(connection, "PING")
            measured = measure()
            server.ask(connection, "PING")
    except RedisError:
        return None
    return measured
