"""Opens connections to a store's servers, and checks that each server is durable enough.

Each thread has its own connection to each server. Without the bookkeeping of a pool, an upload
takes a third less of a worker's time.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

from redis.connection import ConnectionPool
from redis.crc import key_slot
from redis.exceptions import AskError, RedisError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from collector.errors import ConfigError, plural
from collector.redis_servers import server
from collector.redis_servers.connection import CLASSES, NO_URL, Connection, TlsConnection, require_url, unavailable
from collector.redis_servers.server import Address, Replicas, ask
from collector.required_settings import NO_PROMISE, Promise

Answer = TypeVar("Answer")

CONNECT_TIMEOUT_S = 2.0
ANSWER_TIMEOUT_S = 5.0
"""How long a server may take to respond, in seconds.

If a write takes longer, the server's disk is failing. The client gets status 503 and retries.
"""

AVOIDED_S = 2.0
"""For this many seconds after a timeout, no thread opens a new connection to the server.

Then one thread at a time tries again. The requests of other threads without a connection fail
immediately.
"""

Measured = TypeVar("Measured")


class _OfAThread(dict[Address, Connection]):
    """The connections of one thread. They are closed when the thread ends."""

    def __del__(self) -> None:
        for connection in self.values():
            connection.close()


class Connections:
    """Opens connections to a store's servers, and keeps one for each thread and server.

    Attributes:
        nodes: the known nodes of the cluster. Empty for a single server.
    """

    nodes: tuple[Address, ...] = ()

    def __init__(
        self, url: str, promise: Promise, *, is_cluster: bool, set_up: Callable[[Connection], None] = lambda _: None
    ) -> None:
        """Store the server's URL. Nothing is sent before the first use.

        Args:
            url: the URL of the server. All nodes of a cluster have the same user, password and
                certificates.
            promise: the durability that every server must provide.
            is_cluster: whether the server is a node of a cluster.
            set_up: prepares a new connection. If ``set_up`` raises an error, the connection is
                closed.
        """
        pool = _pool_of(url)
        self._class = CLASSES[pool.connection_class]
        self._settings = pool.connection_kwargs
        self._promise = promise
        self._is_cluster = is_cluster
        self._set_up = set_up
        self._thread = threading.local()
        self._avoided_until: dict[Address, float] = {}

    def own(self, address: Address) -> Connection:
        """Return this thread's connection to a server. If necessary, open the connection first.

        Raises:
            RedisError: if the server does not respond.
            ConfigError: if the server does not provide the required durability.
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
        """Return this thread's open connection to a server, or None if there is none."""
        return self._own().get(address)

    def drop(self, address: Address) -> None:
        """Close this thread's connection to a server. The next call of `own` opens a new one."""
        connection = self._own().pop(address, None)
        if connection is not None:
            connection.close()

    def drop_all(self) -> None:
        """Close all connections of this thread."""
        for address in list(self._own()):
            self.drop(address)

    def avoid(self, address: Address) -> None:
        """Let no thread connect to a server for AVOIDED_S seconds, then one thread at a time."""
        self._avoided_until[address] = time.monotonic() + AVOIDED_S

    def connect(self, address: Address) -> Connection:
        """Return a new connection to a server, without checking the server."""
        place = {} if address is None else {"host": address[0], "port": address[1]}
        connection: Connection = self._class(**self._settings | place)
        connection.connect()  # type: ignore[no-untyped-call] # redis-py's
        return connection

    def open(self, address: Address) -> Connection:
        """Return a new connection after checking the server's durability and calling ``set_up``.

        Raises:
            RedisError: if the server does not respond.
            ConfigError: if the server does not provide the required durability.
        """
        connection = self.connect(address)
        try:
            server.require_kept(connection, self._promise, is_cluster=self._is_cluster)
            if self._promise.copies:
                self._require_copies(connection, address)
            if self.is_replicated:
                connection.history = server.history(server.info(connection, "replication"))
            self._set_up(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_replicated(self) -> bool:
        """Whether readers must wait for replicas, because a replica may become master.

        Always False for a program that acknowledges no reports, such as ``store export``.
        """
        return bool(self._promise.copies) or (self._is_cluster and self._promise.durability is not None)

    def replicas_to_confirm(self, connection: Connection, tag: str) -> Replicas:
        """Return the replicas that must have a shard's data before readers get the data.

        Their number includes all replicas that may become master, and is at least the number of
        required copies. If copies are required, disconnected replicas are not counted, because they
        may already lack acknowledged writes.

        ``tag`` is the prefix of the shard's keys.
        """
        if not self._is_cluster:
            return Replicas(self._promise.copies)
        listed = server.replicas_of_slot(connection, key_slot(tag.encode()))
        given_up = listed.away if self._promise.copies else 0
        return listed._replace(number=max(self._promise.copies, listed.number - given_up))

    def redirected(self, source: Address, error: AskError) -> Address:
        """Return the address to which a server redirects a command.

        A redirection without a host refers to the host of the redirecting server.
        """
        host, port = error.node_addr
        return host or self._host_of(source), port

    def servers(self) -> list[Address]:
        """Return the addresses of all servers of the store, replicas included.

        The known nodes are asked in order until one responds. The server of the URL is asked last.

        Raises:
            StoreUnavailableError: if no server responds.
        """
        for address in self.nodes:
            with contextlib.suppress(RedisError), self.briefly(address) as connection:
                return self._beside(connection, address)
        try:
            with self.briefly(None) as connection:
                return self._beside(connection, None)
        except RedisError as error:
            raise unavailable(error) from error

    def ask_every_server(self, query: Callable[[Connection], Answer]) -> list[Answer]:
        """Call ``query`` with a new connection to each server, and return the results.

        Raises:
            StoreUnavailableError: if a server does not respond.
        """
        answers = []
        for address in self.servers():
            try:
                with self.briefly(address) as connection:
                    answers.append(query(connection))
            except RedisError as error:
                raise unavailable(error) from error
        return answers

    def require_promise(self) -> None:
        """Check that every server is durable enough, and find the nodes of the cluster.

        Raises:
            ConfigError: if a server is too old or does not provide the required durability.
            StoreUnavailableError: if a server does not respond.
        """
        try:
            self.open(None).close()
            nodes = tuple(self.servers()) if self._is_cluster else ()
            for address in nodes:
                self.open(address).close()
        except RedisError as error:
            raise unavailable(error) from error
        self.nodes = nodes

    def _beside(self, connection: Connection, address: Address) -> list[Address]:
        if self._is_cluster:
            return server.nodes(connection, self._host_of(address), by_tls=self._class is TlsConnection)
        return [None, *(server.replicas(connection) or ())]

    @contextlib.contextmanager
    def briefly(self, address: Address) -> Iterator[Connection]:
        """Provide a connection to a server during a ``with`` block, without checking the server."""
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
            raise RedisConnectionError("the server recently did not answer in time") from TimeoutError()
        self.avoid(address)  # keeps the other threads away while this thread tries

    def _require_copies(self, connection: Connection, address: Address) -> None:
        """Refuse a master if too few of its replicas provide the required durability."""
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
                f"{where} has {plural(kept, 'replica')} in sync, but --copies requires {self._promise.copies}: "
                "start more replicas, or lower --copies"
            )


def _pool_of(url: str) -> ConnectionPool:
    """Return redis-py's connection pool for a URL.

    The caller uses only the pool's connection class and arguments.
    """
    require_url(url)
    try:
        return ConnectionPool.from_url(
            url, socket_connect_timeout=CONNECT_TIMEOUT_S, socket_timeout=ANSWER_TIMEOUT_S, client_name=None, protocol=2
        )
    except ValueError:  # the URL is not shown: split in the wrong places, it may reveal a password
        raise ConfigError(NO_URL) from None


def answers(url: str) -> bool:
    """Return whether a server responds. Its settings are not checked."""
    return before_an_answer(url, lambda: True) is not None


def before_an_answer(url: str, measure: Callable[[], Measured]) -> Measured | None:
    """Call ``measure`` between two responses of the same server process.

    Every write that began before the measurement is then complete. With ``appendfsync always``,
    these writes are on disk.

    Returns:
        The result of ``measure``. None if either of the two responses is missing.
    """
    connections = Connections(url, NO_PROMISE, is_cluster=False)
    try:
        with connections.briefly(None) as connection:
            ask(connection, "PING")
            measured = measure()
            ask(connection, "PING")
    except RedisError:
        return None
    return measured
