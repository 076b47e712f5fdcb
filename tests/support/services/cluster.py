"""A real cluster of servers on free ports of this machine: masters, and replicas of each."""

from __future__ import annotations

import contextlib
import itertools
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import redis

from collector.embedded.store import server_program
from collector.store import keys
from tests.support.services.processes import free_port, started, wait_until

SLOTS = 16_384

NODE_TIMEOUT_MS = 30_000
"""After this time a failover begins. A loaded machine must not mistake a slow master for a dead
one.
"""

QUICK_NODE_TIMEOUT_MS = 1000
"""The same for tests of failovers."""

SETTINGS = (
    *("--protected-mode", "no", "--save", "", "--appendonly", "yes", "--appendfsync", "always"),
    *("--cluster-enabled", "yes", "--cluster-require-full-coverage", "no", "--repl-diskless-sync-delay", "0"),
)

LOG, LINES_SHOWN = "node.log", 12
"""The name of a node's log in its folder, and how many of its last lines a failed wait shows."""


@dataclass
class Node:
    """One server.

    Attributes:
        folder: its working directory.
        port: where it listens.
        host: the address on which it listens.
        entered: enters the host, if that is another than this one.
        wrapper: the command that runs the server's, if it is not run as it is.
        timeout_ms: how long the node waits for another before it takes it for dead.
        process: the server, if it runs.

    """

    folder: Path
    port: int
    host: str = "127.0.0.1"
    entered: Callable[[], contextlib.AbstractContextManager[None]] = contextlib.nullcontext
    wrapper: Sequence[str] = ()
    timeout_ms: int = NODE_TIMEOUT_MS
    process: subprocess.Popen[bytes] | None = None
    client: Any = field(init=False)

    def __post_init__(self) -> None:
        self.client = redis.Redis(self.host, self.port, decode_responses=True, socket_timeout=10.0)

    @property
    def pid(self) -> int:
        """The pid of the server."""
        assert self.process is not None
        return self.process.pid

    def start(self) -> None:
        """Start the server with the files of its folder, and wait until it answers."""
        self.folder.mkdir(exist_ok=True)
        command = [
            *self.wrapper,
            server_program(),
            "--bind",
            self.host,
            "--port",
            str(self.port),
            "--dir",
            str(self.folder),
        ]
        with self.entered():
            self.process = started(
                [
                    *command,
                    "--cluster-port",
                    str(free_port()),
                    "--cluster-node-timeout",
                    str(self.timeout_ms),
                    "--logfile",
                    LOG,
                    *SETTINGS,
                ],
                stdout=subprocess.DEVNULL,
            )
        wait_until(self.answers, what="a node of the cluster")

    def answers(self) -> bool:
        try:
            return bool(self.client.ping())
        except redis.RedisError:
            return False

    def kill(self) -> None:
        """Kill the server."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def ask(self, *command: str | int) -> Any:
        """Return this node's own answer to a command."""
        return self.client.execute_command(*command)

    def id(self) -> str:
        """Return the node's name in the cluster."""
        name: str = self.ask("CLUSTER", "MYID")
        return name

    def replicates(self, other: Node) -> bool:
        """Whether the node is a replica of another."""
        facts = self.client.info("replication")
        return bool(facts["role"] == "slave" and facts["master_port"] == other.port)

    def is_master(self) -> bool:
        """Whether the node is a master now."""
        return bool(self.client.info("replication")["role"] == "master")

    def state(self) -> str:
        """Return what explains why a wait failed: the node's role and the end of its log."""
        try:
            told = str(self.client.info("replication"))
        except redis.RedisError as silent:
            told = repr(silent)
        end = (self.folder / LOG).read_text(encoding="utf-8", errors="replace").splitlines()[-LINES_SHOWN:]
        return "\n".join([f"node {self.port} at {self.host}: {told}", *end])


@dataclass
class Cluster:
    """Nodes of a cluster.

    Attributes:
        nodes: in the beginning masters first, then the replicas of each.
        masters: how many nodes are masters.

    """

    nodes: list[Node]
    masters: int

    @property
    def url(self) -> str:
        """Where any node listens."""
        return f"redis://{self.nodes[0].host}:{self.nodes[0].port}"

    def empty(self) -> None:
        """Remove everything that is stored."""
        for node in self.nodes:
            if node.is_master():
                node.ask("FLUSHALL")

    @contextlib.contextmanager
    def failing_over_quickly(self) -> Iterator[None]:
        """Make replicas take over quickly from a master that does not answer."""
        self._set_timeout(QUICK_NODE_TIMEOUT_MS)
        try:
            yield
        finally:
            self._set_timeout(NODE_TIMEOUT_MS)

    @contextlib.contextmanager
    def failing_over_on_command(self) -> Iterator[None]:
        """Keep replicas from taking over by themselves, whatever a loaded machine delays."""
        self._set_timeout(NODE_TIMEOUT_MS)
        try:
            yield
        finally:
            self._set_timeout(QUICK_NODE_TIMEOUT_MS)

    def _set_timeout(self, timeout_ms: int) -> None:
        for node in self.nodes:
            node.timeout_ms = timeout_ms
            if node.process is not None:
                node.client.config_set("cluster-node-timeout", timeout_ms)

    def holder(self, slot: int) -> Node:
        """Wait until all running nodes agree on the master of a slot, and return it."""
        ports: set[str] = set()

        def agreed() -> bool:
            ports.clear()
            ports.update(_master_of(slot, node) for node in self.nodes if node.process is not None)
            return len(ports) == 1

        self.wait_until(agreed, what="the nodes to agree on who holds a slot")
        (port,) = ports
        return next(node for node in self.nodes if str(node.port) == port)

    def slot_of(self, shard: int) -> int:
        """Return the slot of a shard's keys."""
        return int(self.nodes[0].ask("CLUSTER", "KEYSLOT", keys.prefix(shard)))

    def holder_of_shard(self, shard: int) -> Node:
        """Return the master of a shard's slot."""
        return self.holder(self.slot_of(shard))

    def replicas_of(self, master: Node) -> list[Node]:
        """Return the running replicas of a master."""
        return [node for node in self.nodes if node.process is not None and node.replicates(master)]

    def wait_until_healthy(self) -> None:
        """Wait until all nodes run, none believes that another failed, and replicas are in step."""
        for node in self.nodes:
            if node.process is None or node.process.poll() is not None:
                node.start()
        self.wait_until(self._is_healthy, what="a healthy cluster")

    def wait_until(self, condition: Callable[[], bool], *, what: str) -> None:
        """Poll a condition until it holds.

        Raises:
            TimeoutError: if it does not hold in time; its notes show the state of every node.

        """
        try:
            wait_until(condition, what=what)
        except TimeoutError as late:
            for node in self.nodes:
                late.add_note(node.state())
            raise

    def _is_healthy(self) -> bool:
        masters = [node for node in self.nodes if node.is_master()]
        in_step = sum(
            value["state"] == "online"
            for node in masters
            for name, value in node.client.info("replication").items()
            if name.startswith("slave") and name[5:].isdecimal()
        )
        seen = [dict(line.split(":") for line in node.ask("CLUSTER", "INFO").split()) for node in self.nodes]
        # A replica takes over from a master that it still believes to have failed.
        if any({"fail", "fail?"} & flags for node in self.nodes for flags in flags_by_name(node).values()):
            return False
        agreed = all(
            info["cluster_state"] == "ok"
            and info["cluster_known_nodes"] == str(len(self.nodes))
            and info["cluster_slots_ok"] == str(SLOTS)
            for info in seen
        )
        # otherwise a further node is a master that another has taken over from without its
        # knowledge
        return agreed and len(masters) == self.masters and in_step == len(self.nodes) - len(masters)


def _master_of(slot: int, node: Node) -> str:
    """Return the port of a slot's master as a node sees it; empty if there is none."""
    for first, last, (_, port, *_), *_ in node.ask("CLUSTER", "SLOTS"):
        if first <= slot <= last:
            return str(port)
    return ""


@contextlib.contextmanager
def running_cluster(folder: Path, masters: int = 3, *, replicas: int = 1) -> Iterator[Cluster]:
    """Run a cluster on this host until the context ends; each master has as many replicas."""
    nodes = [Node(folder / str(number), free_port()) for number in range(masters * (1 + replicas))]
    with running_nodes(nodes, masters) as cluster:
        yield cluster


@contextlib.contextmanager
def running_nodes(nodes: list[Node], masters: int) -> Iterator[Cluster]:
    """Run nodes as a cluster until the context ends; the first ``masters`` of them are masters."""
    try:
        for node in nodes:
            node.start()
        join(nodes[:masters], nodes[masters:])
        cluster = Cluster(nodes, masters)
        cluster.wait_until_healthy()
        yield cluster
    finally:
        for node in nodes:
            node.client.close()
            node.kill()


def join(masters: Sequence[Node], replicas: Sequence[Node]) -> None:
    """Join nodes to one cluster.

    Epochs differ before the nodes meet, so that none has to give way.
    """
    for epoch, node in enumerate((*masters, *replicas), 1):
        node.ask("CLUSTER", "SET-CONFIG-EPOCH", epoch)
    bounds = [SLOTS * number // len(masters) for number in range(len(masters) + 1)]
    for node, first, end in zip(masters, bounds, bounds[1:], strict=False):
        node.ask("CLUSTER", "ADDSLOTSRANGE", first, end - 1)
    everyone = [*masters, *replicas]
    for node in everyone[1:]:
        everyone[0].ask("CLUSTER", "MEET", node.host, node.port, bus_port(node))
    names = {node.id() for node in everyone}
    wait_until(lambda: all(names == known(node) for node in everyone), what="the nodes to meet")
    for replica, master in zip(replicas, itertools.cycle(masters), strict=False):
        replica.ask("CLUSTER", "REPLICATE", master.id())


def bus_port(node: Node) -> int:
    return int(node.client.config_get("cluster-port")["cluster-port"])


def known(node: Node) -> set[str]:
    """Return the names of the nodes with which a node has shaken hands."""
    return {name for name, flags in flags_by_name(node).items() if "handshake" not in flags}


def flags_by_name(node: Node) -> dict[str, set[str]]:
    """Map the name of each node that a node knows to the flags, such as ``fail``, it gives it."""
    lines = [line.split() for line in node.ask("CLUSTER", "NODES").splitlines()]
    return {name: set(flags.split(",")) for name, _, flags, *_ in lines}
