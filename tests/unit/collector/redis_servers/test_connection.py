"""Connections over real sockets of each kind: the right and complete answer, or an error."""

from __future__ import annotations

import signal
import socket
import ssl
import struct
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, NamedTuple, Protocol

import pytest
import trustme
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import InvalidResponse, MovedError, RedisError, ResponseError
from redis.exceptions import TimeoutError as RedisTimeoutError

from collector.errors import ConfigError
from collector.redis_servers.connection import Connection, TcpConnection
from collector.redis_servers.connections import Connections
from collector.required_settings import NO_PROMISE
from tests.support.core.tables import for_each

PATIENT_S = 30.0
IMPATIENT_S = 0.1

LARGE = b"x" * 8_000_000
"""More than a socket of any kind holds."""

NO_LINGER = struct.pack("ii", 1, 0)
"""The other end sees a reset, not an orderly end."""


class Ends(NamedTuple):
    """A connection and the server's end of it."""

    ours: Connection
    server: socket.socket


def _greet_nobody(ours: Any) -> None:
    ours._parser.on_connect(ours)


class Joined(TcpConnection):
    """A connection over a connected socket, which tells the server nothing first."""

    def __init__(self, joined: socket.socket, read_size: int) -> None:
        super().__init__(protocol=2, socket_read_size=read_size, redis_connect_func=_greet_nobody)  # type: ignore[no-untyped-call] # redis-py's
        self._joined = joined

    def _connect(self) -> socket.socket:
        return self._joined

    def _host_error(self) -> str:
        return "the server of the test"


class Connect(Protocol):
    """Connects, with a time limit."""

    def __call__(self, timeout_s: float, read_size: int = 65_536) -> Ends: ...


Alarm = Callable[[Callable[[], object]], None]


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def aside() -> Iterator[ThreadPoolExecutor]:
    """A thread for what the server does meanwhile."""
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.fixture(params=["unix", "tcp", "tls"])
def connect(request: pytest.FixtureRequest, authority: trustme.CA, aside: ThreadPoolExecutor) -> Iterator[Connect]:
    """Return a function that connects with a time limit."""
    opened: list[Ends] = []

    def connected(timeout_s: float, read_size: int = 65_536) -> Ends:
        ends = socket.socketpair() if request.param == "unix" else tcp_pair()
        for end in ends:
            end.settimeout(PATIENT_S)
        if request.param == "tls":
            ends = encrypted(ends, authority, aside)
        ends[0].settimeout(timeout_s)
        ours = Joined(ends[0], read_size)
        ours.connect()  # type: ignore[no-untyped-call] # redis-py's
        opened.append(Ends(ours, ends[1]))
        return opened[-1]

    yield connected
    for ends in opened:
        ends.ours.close()
        ends.server.close()


@pytest.fixture
def alarm() -> Iterator[Alarm]:
    """Return a function that calls another from a signal handler, soon."""

    def set_alarm(act: Callable[[], object]) -> None:
        signal.signal(signal.SIGALRM, lambda *_: act())
        signal.setitimer(signal.ITIMER_REAL, IMPATIENT_S)

    before = signal.getsignal(signal.SIGALRM)
    yield set_alarm
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


def tcp_pair() -> tuple[socket.socket, socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        ours = socket.create_connection(listener.getsockname())
        return ours, listener.accept()[0]


def encrypted(
    ends: tuple[socket.socket, socket.socket], authority: trustme.CA, aside: ThreadPoolExecutor
) -> tuple[socket.socket, socket.socket]:
    of_client, of_server = ssl.create_default_context(), ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.configure_trust(of_client)
    authority.issue_cert("127.0.0.1").configure_cert(of_server)
    server = aside.submit(of_server.wrap_socket, ends[1], server_side=True)
    return of_client.wrap_socket(ends[0], server_hostname="127.0.0.1"), server.result()


def read(server: socket.socket, size: int) -> bytes:
    received = bytearray()
    while len(received) < size and (part := server.recv(1_000_000)):
        received += part
    return bytes(received)


def require_closed(ends: Ends) -> None:
    """Fail unless the server sees the end, and sending and reading fail."""
    with pytest.raises(RedisConnectionError):
        ends.ours.receive()
    with pytest.raises(RedisConnectionError):
        ends.ours.send(b"*1\r\n$4\r\nPING\r\n")
    with suppress(ConnectionResetError):  # as something was not read
        while ends.server.recv(1_000_000):
            pass


def test_commands_reach_the_server_and_their_answers_come_in_order(connect: Connect) -> None:
    ours, server = connect(PATIENT_S)
    ours.send(b"one")
    ours.send(b"two")
    assert read(server, 6) == b"onetwo"
    server.sendall(b"+OK\r\n:7\r\n$-1\r\n*2\r\n$1\r\na\r\n:1\r\n")
    assert [ours.receive() for _ in range(4)] == [b"OK", 7, None, [b"a", 1]]


def test_an_answer_that_comes_byte_by_byte_is_one(connect: Connect) -> None:
    ours, server = connect(PATIENT_S, read_size=1)
    server.sendall(b"*2\r\n$2\r\nab\r\n$-1\r\n+OK\r\n")
    assert [ours.receive(), ours.receive()] == [[b"ab", None], b"OK"]


def test_what_no_socket_holds_at_once_arrives_whole_both_ways(connect: Connect, aside: ThreadPoolExecutor) -> None:
    ours, server = connect(PATIENT_S)
    received = aside.submit(read, server, len(LARGE))
    ours.send(LARGE)
    assert received.result() == LARGE
    sent = aside.submit(server.sendall, b"$%d\r\n%b\r\n+next\r\n" % (len(LARGE), LARGE))
    assert [ours.receive(), ours.receive()] == [LARGE, b"next"]
    sent.result()


def test_an_error_is_of_its_class_and_leaves_the_connection_as_it_is(connect: Connect) -> None:
    ours, server = connect(PATIENT_S)
    server.sendall(b"-MOVED 7 b:2\r\n-ERR no\r\n+OK\r\n")
    with pytest.raises(MovedError) as moved:
        ours.receive()
    assert moved.value.node_addr == ("b", 2)
    with pytest.raises(ResponseError, match="no"):
        ours.receive()
    assert ours.receive() == b"OK"


@pytest.mark.parametrize("begun", [b"", b"$2\r\na"])
def test_an_answer_that_is_not_there_in_time_is_taken_for_no_others(connect: Connect, begun: bytes) -> None:
    ends = connect(IMPATIENT_S)
    ends.server.sendall(b"+before\r\n" + begun)
    assert ends.ours.receive() == b"before"
    began_s = time.monotonic()
    with pytest.raises(RedisTimeoutError):
        ends.ours.receive()
    assert IMPATIENT_S <= time.monotonic() - began_s < PATIENT_S
    require_closed(ends)


def test_a_server_that_takes_nothing_in_is_not_waited_for_longer(connect: Connect) -> None:
    ends = connect(IMPATIENT_S)
    began_s = time.monotonic()
    with pytest.raises(RedisTimeoutError):
        ends.ours.send(LARGE)
    assert time.monotonic() - began_s < PATIENT_S
    require_closed(ends)


@pytest.mark.parametrize("connect", ["unix", "tcp"], indirect=True)
def test_a_full_connection_is_waited_for_until_the_server_takes_something_in(
    connect: Connect, alarm: Alarm, aside: ThreadPoolExecutor
) -> None:
    ours, server = connect(PATIENT_S)
    held: Any = ours._sock
    held.settimeout(0)
    filled = 0
    with suppress(BlockingIOError):
        while True:
            filled += held.send(LARGE)
    held.settimeout(PATIENT_S)
    alarm(lambda: aside.submit(lambda: server.sendall(b"$%d\r\n%b\r\n" % (5, read(server, filled + 5)[filled:]))))
    ours.send(b"again")
    assert ours.receive() == b"again"


@pytest.mark.parametrize("begun", [b"", b"$2\r\na"])
@pytest.mark.parametrize("is_reset", [False, True])
def test_a_connection_that_is_cut_is_no_answer(connect: Connect, begun: bytes, is_reset: bool) -> None:  # noqa: FBT001 parametrized
    ends = connect(PATIENT_S)
    ends.ours.send(b"unread" * is_reset or b"read")
    if not is_reset:
        read(ends.server, 4)
    ends.server.sendall(begun)
    if is_reset:
        ends.server.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, NO_LINGER)
    ends.server.close()
    with pytest.raises(RedisConnectionError):
        ends.ours.receive()
    with pytest.raises(RedisConnectionError):
        ends.ours.send(b"again")


def test_what_is_no_answer_of_a_server_closes_the_connection(connect: Connect) -> None:
    ends = connect(PATIENT_S)
    ends.server.sendall(b"HTTP/1.1 400 Bad Request\r\n")
    with pytest.raises(InvalidResponse):
        ends.ours.receive()
    with pytest.raises(RedisError):
        ends.ours.receive()


def test_a_signal_does_not_end_the_wait_for_an_answer(connect: Connect, alarm: Alarm) -> None:
    ours, server = connect(PATIENT_S)
    alarm(lambda: server.sendall(b"+OK\r\n"))
    assert ours.receive() == b"OK"


def test_a_wait_that_is_given_up_leaves_no_answer_to_be_taken_for_anothers(connect: Connect, alarm: Alarm) -> None:
    def give_up() -> None:
        raise KeyboardInterrupt

    ends = connect(PATIENT_S)
    alarm(give_up)
    with pytest.raises(KeyboardInterrupt):
        ends.ours.receive()
    require_closed(ends)


def connections(url: str) -> Connections:
    return Connections(url, NO_PROMISE, is_cluster=False)


@for_each(
    "url, named",
    [
        ("redis://:canary@127.0.0.1:1?ssl_ca_certs=/x", "ssl_ca_certs in the URL of --redis needs rediss://"),
        ("unix:///x?ssl_ca_certs=canary", "ssl_ca_certs in the URL of --redis needs rediss://"),
        ("redis://:canary@127.0.0.1:1?foo=canary", "cannot have the parameter foo, only db$"),
        ("redis://:canary@127.0.0.1:1?foo", "cannot have the parameter foo, only db$"),
        (
            "rediss://127.0.0.1:1?protocol=3",
            "cannot have the parameter protocol, only db, ssl_ca_certs, .*, ssl_password$",
        ),
        ("redis://127.0.0.1:1?parser_class=canary", "cannot have the parameter parser_class"),
        ("redis://127.0.0.1:1?retry=canary", "cannot have the parameter retry"),
        ("redis://127.0.0.1:1?host=canary", "cannot have the parameter host"),
        ("rediss://127.0.0.1:1?ssl_ca_certs=", "ssl_ca_certs in the URL of --redis has no value"),
        ("rediss://127.0.0.1:1?ssl_cert_reqs=none", "cannot have the parameter ssl_cert_reqs, only db, ssl_ca_certs"),
        ("rediss://127.0.0.1:1?ssl_check_hostname=maybe", "cannot have the parameter ssl_check_hostname"),
        ("rediss://127.0.0.1:1?ssl_min_version=1", "cannot have the parameter ssl_min_version"),
        ("rediss://127.0.0.1:1?ssl_ciphers=ALL:@SECLEVEL=0", "--redis must be a URL"),
        ("rediss://127.0.0.1:1?ssl_ciphers=canary", "cannot have the parameter ssl_ciphers"),
        ("rediss://127.0.0.1:1?ssl_keyfile=canary", "ssl_keyfile in the URL of --redis needs ssl_certfile"),
        ("rediss://127.0.0.1:1?ssl_password=canary", "ssl_password in the URL of --redis needs ssl_certfile"),
        ("rediss://127.0.0.1:1?ssl_ca_certs=a&ssl_ca_certs=canary", "ssl_ca_certs appears twice"),
        ("rediss://127.0.0.1:1?ssl_ca_certs=canary%00", "--redis must be a URL"),
        ("redis://127.0.0.1:1?username=canary", "cannot have the parameter username"),
        ("redis://u:canary@127.0.0.1:1?password=canary", "cannot have the parameter password"),
        ("redis://127.0.0.1:1?socket_timeout=-1", "cannot have the parameter socket_timeout"),
        ("redis://127.0.0.1:1?socket_timeout=1e400", "cannot have the parameter socket_timeout"),
        ("redis://127.0.0.1:1?socket_connect_timeout=nan", "cannot have the parameter socket_connect_timeout"),
        ("redis://127.0.0.1:1/1?db=2", "names its database twice"),
        ("redis://127.0.0.1:1?db=1&db=2", "db appears twice"),
        (f"redis://127.0.0.1:1/{'1' * 5000}", "the database in the URL of --redis must be a number"),
        ("redis://127.0.0.1:0", "--redis must be a URL"),
        ("redis://127.0.0.1:canary", "--redis must be a URL"),
        ("unix://canary/valkey.sock", "--redis must be a URL"),
        ("unix://:1/valkey.sock", "--redis must be a URL"),
        ("unix://", "--redis must be a URL"),
        ("REDIS://:canary@127.0.0.1", "--redis must be a URL"),
        ("unix:///canary%00", "--redis must be a URL"),
        ("redis://127.0.0.1:1/canary", "the database in the URL of --redis must be a number"),
        ("redis://127.0.0.1:1/1/2", "the database in the URL of --redis must be a number"),
        ("redis://127.0.0.1:1/-1", "the database in the URL of --redis must be a number"),
        ("redis://127.0.0.1:1?db=canary", "the database in the URL of --redis must be a number"),
        ("redis://:12?canary=x@127.0.0.1:1", "--redis must be a URL"),
        ("redis://:12#canary@127.0.0.1:1", "--redis must be a URL"),
        ("redis://:12/canary@127.0.0.1:1", "--redis must be a URL"),
        ("http://127.0.0.1:1/canary", "--redis must be a URL"),
        ("redis://[canary", "--redis must be a URL"),
        ("redis://canary..example:1", "--redis must be a URL"),
    ],
)
def test_a_url_that_would_be_misunderstood_is_refused_without_showing_its_values(url: str, named: str) -> None:
    with pytest.raises(ConfigError, match=named) as caught:
        connections(url)
    assert "canary" not in str(caught.value)


@for_each(
    "url",
    [
        "redis://127.0.0.1",
        "redis://127.0.0.1/",
        "redis://app:p%40ss@[::1]:6379/3",
        "redis://127.0.0.1?db=3",
        "rediss://app@127.0.0.1:1/0?ssl_ca_certs=/ca.pem&ssl_certfile=/own.pem&ssl_keyfile=/own.key&ssl_password=x",
        "rediss://127.0.0.1?ssl_ca_path=/etc",
        "unix:///run/valkey.sock",
        "unix://app:secret@/run/valkey.sock?db=2",
    ],
)
def test_a_url_may_have_a_login_a_database_and_certificates(url: str) -> None:
    connections(url)
