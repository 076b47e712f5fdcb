from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import hiredis
import pytest
from redis.exceptions import AskError, ClusterDownError, MovedError, ResponseError, TryAgainError
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import TimeoutError as RedisTimeoutError

from collector.errors import StoreUnavailableError
from collector.redis_servers.connection import PackedCommand, TcpConnection
from collector.redis_servers.connections import AVOIDED_S, Connections
from collector.redis_servers.router import ROUNDS, Answered, Router
from collector.redis_servers.server import Address
from collector.required_settings import ON_DISK

A, B, C = ("a", 1), ("b", 2), ("c", 3)

HISTORY = "5a1e"
"""Which every server continues when a connection is opened."""


class Learning(dict[str, Address]):
    """Homes of which another thread learns one whenever somebody looks through them."""

    def items(self) -> Any:
        for number, item in enumerate(super().items()):
            self[f"learnt {number}"] = B
            yield item


Answers = Callable[[list[bytes]], Any]


class Wire(TcpConnection):
    """A connection to a server whose answers the test chooses; errors are raised."""

    def __init__(self, answers: Answers) -> None:
        self._answers = answers
        self._due: list[Any] = []

    def close(self) -> None:
        pass

    def send(self, packed: bytes) -> None:
        reader = hiredis.Reader()
        reader.feed(packed)
        while (command := reader.gets()) is not False:
            self._due.append(self._answers(command))

    def receive(self) -> Any:
        answer = self._due.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer


class Wires(Connections):
    """Connections to servers whose answers the test chooses; other servers refuse."""

    def __init__(self, servers: dict[Address, Answers]) -> None:
        super().__init__("redis://127.0.0.1:1", ON_DISK, is_cluster=True)
        self.answering = servers
        self.dropped: list[Address] = []

    def open(self, address: Address) -> Wire:
        if address not in self.answering:
            raise RedisConnectionError("refused")
        wire = Wire(self.answering[address])
        wire.history = HISTORY
        return wire

    def drop(self, address: Address) -> None:
        self.dropped.append(address)
        self._own().pop(address, None)


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses that were requested; none takes time."""
    slept: list[float] = []
    monkeypatch.setattr(time, "sleep", slept.append)
    return slept


def says(*answers: Any) -> Answers:
    """Answer in turn, and repeat the last answer."""
    left = list(answers)
    return lambda _: left.pop(0) if len(left) > 1 else left[0]


def routed(servers: dict[Address, Answers], copies: int = 0) -> tuple[Router, Wires]:
    wires = Wires(servers)
    router = Router(wires, copies)
    wires.nodes = (A, B, C)
    return router, wires


def get(tag: str = "x") -> PackedCommand:
    return PackedCommand.packed(tag, "GET", tag)


def kinds(answers: list[Any]) -> list[Any]:
    return [type(answer) if isinstance(answer, Exception) else answer for answer in answers]


def test_a_redirection_is_followed_and_remembered() -> None:
    visited: list[Address] = []

    def moved(_: list[bytes]) -> Any:
        visited.append(A)
        return MovedError("7 b:2")

    ours, _ = routed({A: moved, B: says(b"there")})
    assert [ours.ask(get()), ours.ask(get()), ours.ask_all([get()])] == [b"there", b"there", [b"there"]]
    assert visited == [A]


def test_a_slot_on_its_way_is_asked_for_where_it_goes_and_its_home_is_not_forgotten() -> None:
    received: list[list[bytes]] = []

    def target(command: list[bytes]) -> Any:
        received.append(command)
        return b"OK" if command == [b"ASKING"] else b"there"

    ours, _ = routed({A: says(AskError("7 :2")), ("a", 2): target})
    assert ours.ask_all([get(), get()]) == [b"there", b"there"]
    assert received == [[b"ASKING"], [b"GET", b"x"]] * 2


def test_a_moving_slot_is_waited_for_with_growing_pauses_and_not_for_ever(pauses: list[float]) -> None:
    ours, _ = routed({A: says(TryAgainError(), TryAgainError(), b"there")})
    assert ours.ask_all([get()]) == [b"there"]
    assert pauses == [0.005, 0.01]
    ours, _ = routed({A: says(TryAgainError())})
    assert kinds(ours.ask_all([get()])) == [StoreUnavailableError]
    assert len(pauses) == 2 + ROUNDS
    assert 1 < sum(pauses) < 3


def test_a_lost_node_fails_its_own_commands_alone() -> None:
    def first(command: list[bytes]) -> Any:
        return MovedError("7 b:2") if command[1] == b"x" else b"here"

    ours, _ = routed({A: first})
    assert kinds(ours.ask_all([get("x"), get("y"), get("x")])) == [
        StoreUnavailableError,
        b"here",
        StoreUnavailableError,
    ]


def test_a_node_that_took_over_is_found_by_asking_another() -> None:
    servers: dict[Address, Answers] = {
        A: says(MovedError("7 b:2"), MovedError("7 c:3")),
        B: says(b"there"),
        C: says(b"now here"),
    }
    ours, wires = routed(servers)
    assert ours.ask(get()) == b"there"
    del servers[B]
    wires._own().clear()
    assert ours.ask(get()) == b"now here"


@pytest.mark.parametrize("requests", [1, 5])
def test_a_node_that_does_not_know_the_slots_is_not_the_last_to_be_asked(requests: int) -> None:
    down = says(ClusterDownError("The cluster is down"))
    ours, _ = routed({A: down, B: down, C: says(b"there")})
    assert ours.ask_all([get(str(tag)) for tag in range(requests)]) == [b"there"] * requests


def test_a_cluster_of_which_every_node_is_down_fails_all_commands() -> None:
    ours, _ = routed(dict.fromkeys((A, B, C), says(ClusterDownError("The cluster is down"))))
    assert kinds(ours.ask_all([get("x"), get("y")])) == [StoreUnavailableError] * 2


def test_a_connection_that_broke_is_tried_once_more_with_all_that_was_sent() -> None:
    ours, wires = routed({A: says(b"one", RedisConnectionError("broke"), b"one", b"two")})
    assert ours.ask_all([get(), get()]) == [b"one", b"two"]
    assert wires.dropped.count(A) == 1
    ours, wires = routed({A: says(RedisConnectionError("broke"))})
    assert kinds(ours.ask_all([get()])) == [StoreUnavailableError]


def test_a_server_that_does_not_answer_in_time_is_not_asked_twice() -> None:
    ours, wires = routed({A: says(RedisTimeoutError("late"), b"one")})
    assert kinds(ours.ask_all([get(), get()])) == [StoreUnavailableError] * 2
    with pytest.raises(RedisConnectionError, match="recently did not answer"):
        wires.own(A)


def test_a_server_that_answered_before_and_now_does_not_is_not_asked_twice_either() -> None:
    ours, wires = routed({None: says(b"one", RedisTimeoutError("late"), b"two")})
    wires.nodes = ()
    assert ours.ask(get()) == b"one"
    with pytest.raises(StoreUnavailableError, match="late"):
        ours.ask(get())
    with pytest.raises(RedisConnectionError, match="recently did not answer"):
        wires.own(None)


def test_a_server_that_was_avoided_is_tried_by_one_first(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    wires = Wires({A: says(b"one")})
    wires.avoid(A)
    now[0] += AVOIDED_S
    monkeypatch.setattr(wires, "open", _never)
    with pytest.raises(RedisTimeoutError):
        wires.own(A)
    with pytest.raises(RedisConnectionError, match="recently did not answer"):
        wires.own(A)
    monkeypatch.undo()
    wires._avoided_until[A] = float("-inf")
    assert wires.own(A) is wires.own(A)
    assert wires._avoided_until == {}


def _never(_: Address) -> Wire:
    raise RedisTimeoutError("late")


@pytest.mark.parametrize("commands", [1, 2])
def test_a_connection_with_answers_that_nobody_read_is_not_used_again(commands: int) -> None:
    ours, wires = routed({A: says(b"one", KeyboardInterrupt(), b"two")})
    ours.ask(get())
    ours._homes["x"] = A
    with pytest.raises(KeyboardInterrupt):
        ours.ask(get()) if commands == 1 else ours.ask_all([get()] * commands)
    assert wires.opened(A) is None


def test_an_error_of_one_command_is_its_own() -> None:
    def answers(command: list[bytes]) -> Any:
        return ResponseError("OOM") if command[1] == b"x" else b"fine"

    ours, _ = routed({A: answers})
    assert kinds(ours.ask_all([get("x"), get("y")])) == [StoreUnavailableError, b"fine"]


def waits(*copies: list[int]) -> Answers:
    acknowledgements: Iterator[list[int]] = iter(copies)

    def answer(command: list[bytes]) -> Any:
        if command[0] == b"WAITAOF":
            return next(acknowledgements, [1, 0])
        return replication() if command[0] == b"INFO" else b"counted"

    return answer


def replication(role: str = "master", history: str = HISTORY, attached: Sequence[str] = ()) -> bytes:
    """Return what a server says of its replication."""
    replicas = [f"slave{number}:{replica}" for number, replica in enumerate(attached)]
    return "\r\n".join([f"role:{role}", *replicas, f"master_replid:{history}", ""]).encode()


def test_an_answer_waits_for_its_copies() -> None:
    ours, _ = routed({A: waits([0, 1], [1, 0], [1, 1])}, copies=1)
    assert ours.ask(get()) == b"counted"
    ours, wires = routed({A: waits([1, 1], [1, 1])}, copies=2)
    assert kinds(ours.ask_all([get(), get()])) == [StoreUnavailableError] * 2
    assert wires.opened(A) is None


@pytest.mark.parametrize(("role", "history"), [("master", "another"), ("slave", HISTORY)])
def test_copies_of_what_a_server_wrote_before_it_was_a_replica_are_none(role: str, history: str) -> None:
    facts = iter([replication(role, history)])
    answers = waits([1, 1], [1, 1])

    def taken_over(command: list[bytes]) -> Any:
        return next(facts, replication()) if command[0] == b"INFO" else answers(command)

    ours, wires = routed({A: taken_over}, copies=1)
    assert ours.ask(get()) == b"counted"  # at a second attempt, over another connection
    assert wires.dropped[0] == A


def test_a_server_that_cannot_wait_gives_no_answer_for_its_own() -> None:
    replica = says(MovedError("7 b:2"), ResponseError("WAITAOF cannot be used with replica instances"))
    ours, _ = routed({A: replica, B: waits([1, 1])}, copies=1)
    assert ours.ask(get()) == b"counted"


SHARDS_SEEN = [
    [
        b"slots",
        [0, 16_383],
        b"nodes",
        [
            [b"id", b"m", b"port", 1, b"ip", b"10.0.0.1", b"role", b"master", b"health", b"online"],
            [b"id", b"r", b"tls-port", 2, b"ip", b"10.0.0.2", b"role", b"replica", b"health", b"online"],
            [b"id", b"f", b"port", 3, b"ip", b"10.0.0.3", b"role", b"master", b"health", b"fail"],
        ],
    ]
]


def replicated(
    commands: list[list[bytes]],
    copies_on_disk: int,
    refused: dict[bytes, Exception] | None = None,
    *,
    seen: Any = SHARDS_SEEN,
    factor: bytes = b"10",
    attached: Sequence[str] = ("ip=10.0.0.2,port=2,state=online",),
) -> Answers:
    """Answer as a node with a replica, which took over from another that failed."""

    def answer(command: list[bytes]) -> Any:
        commands.append(command)
        if command[0] == b"EVAL":
            return (refused or {}).get(command[3], b"OK")
        answers = {
            b"CLUSTER": seen,
            b"CONFIG": [command[-1], factor],
            b"INFO": replication(attached=attached),
            b"WAITAOF": [1, copies_on_disk],
        }
        return answers.get(command[0], b"here")

    return answer


def test_what_is_read_is_confirmed_by_a_write_that_every_replica_has_which_could_take_over() -> None:
    commands: list[list[bytes]] = []
    ours, _ = routed({A: replicated(commands, copies_on_disk=1)})
    answered: Answered = {}
    assert ours.ask_all([get("{1}:")], answered) == [b"here"]
    ours.confirm(answered, "read")
    assert [command[-3:] for command in commands] == [
        [b"GET", b"{1}:"],
        [b"SET", b"{1}:read", b""],
        [b"CONFIG", b"GET", b"cluster-replica-validity-factor"],
        [b"CLUSTER", b"SHARDS"],
        [b"INFO", b"replication"],
        [b"1", b"1", b"4"],
        [b"INFO", b"replication"],
    ]


def test_what_no_replica_has_is_not_confirmed() -> None:
    ours, wires = routed({A: replicated([], copies_on_disk=0)})
    answered: Answered = {}
    assert ours.ask_all([get()], answered) == [b"here"]
    with pytest.raises(StoreUnavailableError, match="not yet on the disks of 1 replica"):
        ours.confirm(answered, "read")
    assert wires.dropped == [A]


def test_a_replica_that_has_failed_must_have_it_too_until_it_is_forgotten() -> None:
    lost: list[bytes | int] = [b"id", b"lost", b"port", 4, b"ip", b"10.0.0.4", b"role", b"replica", b"health", b"fail"]
    shard = _with(SHARDS_SEEN[0], lost)
    for copies_on_disk, is_confirmed in ((1, False), (2, True)):
        ours, _ = routed({A: replicated([], copies_on_disk, seen=[shard])})
        answered: Answered = {}
        assert ours.ask_all([get()], answered) == [b"here"]
        if is_confirmed:
            ours.confirm(answered, "read")
            continue
        with pytest.raises(StoreUnavailableError, match="of 2 replicas, of which 1 has failed: bring back lost, or"):
            ours.confirm(answered, "read")


def test_a_master_that_was_taken_over_from_must_have_it_if_it_is_known_or_may_take_over_in_any_state() -> None:
    back = _with(
        SHARDS_SEEN[0], [b"id", b"back", b"port", 4, b"ip", b"10.0.0.4", b"role", b"master", b"health", b"online"]
    )
    for server in (replicated([], 1, seen=[back]), replicated([], 1, factor=b"0")):
        ours, _ = routed({A: server})
        answered: Answered = {}
        assert ours.ask_all([get()], answered) == [b"here"]
        with pytest.raises(StoreUnavailableError, match="not yet on the disks of 2 replicas"):
            ours.confirm(answered, "read")


@pytest.mark.parametrize("state", ["wait_bgsave", "send_bulk", "online"])
def test_a_master_that_was_taken_over_from_must_have_it_once_it_may_have_asked_for_a_copy(state: str) -> None:
    attached = ("ip=10.0.0.2,port=2,state=online", f"ip=10.0.0.3,port=3,state={state}")
    ours, _ = routed({A: replicated([], 1, attached=attached)})
    answered: Answered = {}
    assert ours.ask_all([get()], answered) == [b"here"]
    with pytest.raises(StoreUnavailableError, match="of 2 replicas, of which 1 has failed: bring back f, or"):
        ours.confirm(answered, "read")


def test_what_a_server_answered_before_it_was_a_replica_is_not_confirmed() -> None:
    ours, wires = routed({A: replicated([], 1)})
    answered: Answered = {}
    assert ours.ask_all([get()], answered) == [b"here"]
    opened = wires.opened(A)
    assert opened is not None
    opened.history = "the one before"
    with pytest.raises(StoreUnavailableError, match="was a replica for a while"):
        ours.confirm(answered, "read")
    assert wires.opened(A) is None


def _with(shard: list[Any], node: list[bytes | int]) -> list[Any]:
    """Return a shard with a further node."""
    return [*shard[:-1], [*shard[-1], node]]


def test_a_shard_that_has_moved_meanwhile_is_not_the_one_to_write_to() -> None:
    commands: list[list[bytes]] = []
    ours, _ = routed({A: replicated(commands, 1, {b"{1}:read": MovedError("1 b:2"), b"{2}:read": AskError("2 b:2")})})
    answered: Answered = {}
    assert ours.ask_all([get("{1}:"), get("{2}:"), get("{3}:")], answered) == [b"here"] * 3
    ours.confirm(answered, "read")
    assert [command[3] for command in commands if command[0] == b"EVAL"] == [b"{1}:read", b"{2}:read", b"{3}:read"]
    moved, _ = routed({A: replicated([], 1, {b"{1}:read": MovedError("1 b:2")})})
    answered = {}
    assert moved.ask_all([get("{1}:")], answered) == [b"here"]
    with pytest.raises(StoreUnavailableError):
        moved.confirm(answered, "read")


def test_a_reconnected_server_cannot_confirm_what_another_may_have_answered() -> None:
    commands: list[list[bytes]] = []
    ours, wires = routed({A: replicated(commands, copies_on_disk=1)})
    answered: Answered = {}
    assert ours.ask_all([get()], answered) == [b"here"]
    wires.drop(A)
    assert ours.ask(get()) == b"here"
    with pytest.raises(StoreUnavailableError, match="broke during a read"):
        ours.confirm(answered, "read")
    assert [command[0] for command in commands] == [b"GET", b"GET"]


def test_a_server_is_forgotten_while_another_thread_learns_where_keys_are() -> None:
    wires = Wires({A: lambda _: RedisConnectionError("cut"), B: lambda _: b"there"})
    wires.nodes = (A, B)
    router = Router(wires, 0)
    router._homes = Learning({"x": A, "y": B})
    assert router.ask(get()) == b"there"
    assert router._homes == {"y": B}
