"""Faults between the parts of a deployment: a cluster and two collectors, each on its own host.

A fault lasts as long as its context. If a test fails, `Deployment.mend` removes what remains.
"""

from __future__ import annotations

import contextlib
import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TypeAlias

from tests.support.services.cluster import Cluster, Node, running_nodes
from tests.support.services.network import Network, running_network
from tests.support.services.packets import CUT, Link
from tests.support.services.processes import RunningCollector, running_collector, started, wait_until
from tests.support.services.programs import program
from tests.support.services.small_disks import BALLAST, fill, mounted

MASTERS = 3

NODES = [f"node-{number}" for number in range(2 * MASTERS)]
COLLECTORS = ["collector-0", "collector-1"]
OUTSIDE = "outside"
"""The host of the devices and of the tests: nothing cuts it off, so that the tests see every side.
"""

PORT = 7000
"""Ports of the first node and of the collectors: each host has its own ports."""

CLOCK_LIBRARY = "/usr/$LIB/faketime/libfaketime.so.1"
"""The library's path in Debian's package faketime."""

SLOW = Link(loss=0.02, delay_s=0.01)
LAGGING = Link(loss=0.05, delay_s=0.3)

HOUR_S = 3600
MOST_HOURS = 12

DISK_MEGABYTES = 64


@dataclass
class Deployment:
    """A cluster and two collectors.

    Attributes:
        network: their hosts.
        cluster: the nodes; the first has a small disk.
        disk: that disk.
        clocks: the folder of the files that say by how much clocks are ahead.
        coins: the randomness of faults.

    """

    network: Network
    cluster: Cluster
    disk: Path
    clocks: Path
    coins: random.Random = field(default_factory=lambda: random.Random(0))  # noqa: S311 faults, no secrets

    @contextlib.contextmanager
    def collecting(self, registry: Path, *options_of_each: Sequence[str]) -> Iterator[list[RunningCollector]]:
        """Run a collector on each of their hosts until the context ends, each with its own
        options.
        """
        with contextlib.ExitStack() as running:
            collectors = []
            for name, options in zip(COLLECTORS, options_of_each, strict=True):
                host = self.network.hosts[name]
                arguments = ("--redis", self.cluster.url, "--cluster", *options)
                starting = running_collector(
                    registry, registry.parent / name, *arguments, host=host.address, port=PORT, start=started
                )
                with host.entered():
                    collector = running.enter_context(starting)
                collectors.append(replace(collector, url=f"http://{host.address}:{PORT}"))
            yield collectors

    def mend(self) -> None:
        """Undo every fault, and wait until all is well."""
        self.network.heal()
        (self.disk / BALLAST).unlink(missing_ok=True)
        for node in self.cluster.nodes:
            set_clock(self.clocks, self.host_of(node), 0)
        self.cluster.wait_until_healthy()

    def host_of(self, node: Node) -> str:
        """Return the name of a node's host."""
        return NODES[self.cluster.nodes.index(node)]

    def pair(self) -> tuple[Node, Node]:
        """Return one of the masters, and its replica."""
        nodes = self.coins.sample(self.cluster.nodes, len(self.cluster.nodes))
        return next((node, replica) for node in nodes for replica in self.cluster.replicas_of(node))

    def step_clocks(self, offsets_s: Mapping[str, int]) -> None:
        """Set the clocks of hosts ahead by this many seconds, and wait until they show it."""
        for name, offset_s in offsets_s.items():
            set_clock(self.clocks, name, offset_s)
        for name, offset_s in offsets_s.items():
            node = self.cluster.nodes[NODES.index(name)]
            wait_until(partial(_is_ahead, node, offset_s), what="a clock")


Fault: TypeAlias = Callable[[Deployment], contextlib.AbstractContextManager[None]]


def others(*names: str) -> list[str]:
    """Return all other nodes and collectors."""
    return [name for name in (*NODES, *COLLECTORS) if name not in names]


def wait_for_failover(replica: Node) -> None:
    """Wait until a replica is a master."""
    wait_until(replica.is_master, what="a failover")


@contextlib.contextmanager
def cut_off_with_a_collector(at: Deployment) -> Iterator[None]:
    """Cut a master and a collector off from all others."""
    master, replica = at.pair()
    group = (at.host_of(master), at.coins.choice(COLLECTORS))
    at.network.part(group, others(*group))
    wait_for_failover(replica)
    yield
    at.network.heal()


@contextlib.contextmanager
def cut_off_alone(at: Deployment) -> Iterator[None]:
    """Cut a master off from all others."""
    master, replica = at.pair()
    name = at.host_of(master)
    at.network.part([name], others(name))
    wait_for_failover(replica)
    yield
    at.network.heal()


@contextlib.contextmanager
def cut_off_from_the_cluster(at: Deployment) -> Iterator[None]:
    """Cut a master off from the other nodes: both collectors still reach it and its successor."""
    master, replica = at.pair()
    at.network.part([at.host_of(master)], NODES)
    wait_for_failover(replica)
    yield
    at.network.heal()


@contextlib.contextmanager
def mute(at: Deployment) -> Iterator[None]:
    """Cut a master's outgoing links only: it receives from all others."""
    master, replica = at.pair()
    name = at.host_of(master)
    at.network.set(CUT, [name], others(name))
    wait_for_failover(replica)
    yield
    at.network.heal()


@contextlib.contextmanager
def deaf(at: Deployment) -> Iterator[None]:
    """Cut a master's incoming links from the other nodes: they still receive from it."""
    master, _ = at.pair()
    name = at.host_of(master)
    at.network.set(CUT, NODES, [name])
    wait_until(partial(_is_down, master), what="a master that knows that it is alone")
    yield
    at.network.heal()


@contextlib.contextmanager
def slow_and_lossy(at: Deployment) -> Iterator[None]:
    """Make all links slow and lossy."""
    everybody = others()
    at.network.set(SLOW, everybody, everybody)
    yield
    at.network.heal()


@contextlib.contextmanager
def lagging_replica_takes_over(at: Deployment) -> Iterator[None]:
    """Let a replica fall behind; then cut its master off, so that the replica takes over with what
    it has.
    """
    master, replica = at.pair()
    name = at.host_of(master)
    at.network.set(LAGGING, [name], [at.host_of(replica)])
    yield
    at.network.part([name], others(name))
    wait_for_failover(replica)
    at.network.heal()


@contextlib.contextmanager
def parted_replica_takes_over(at: Deployment) -> Iterator[None]:
    """First cut a master off from its replica alone; then from the cluster, so that the replica
    takes over.
    """
    master, replica = at.pair()
    name = at.host_of(master)
    at.network.part([name], [at.host_of(replica)])
    yield
    at.network.part([name], NODES)
    wait_for_failover(replica)
    at.network.heal()


@contextlib.contextmanager
def stepping_clocks(at: Deployment) -> Iterator[None]:
    """Move the clocks of a master and its replica by hours, either way, and back."""
    steps = [(node, at.coins.choice((-1, 1)) * at.coins.randint(1, MOST_HOURS)) for node in at.pair()]
    with stepped_clocks(at, steps):
        yield


@contextlib.contextmanager
def stepped_clocks(at: Deployment, steps: Sequence[tuple[Node, int]]) -> Iterator[None]:
    """Move the clocks of nodes by hours, and back.

    Then the nodes are restarted: a node whose clock went back would wait equally long before it
    takes part in failovers.
    """
    hours = {at.host_of(node): offset for node, offset in steps}
    at.step_clocks({name: offset * HOUR_S for name, offset in hours.items()})
    yield
    at.step_clocks(dict.fromkeys(hours, 0))
    for node, _ in steps:
        node.kill()
        node.start()


@contextlib.contextmanager
def full_disk(at: Deployment) -> Iterator[None]:
    """Fill the disk of a node, which then ends; restart it with room."""
    node = at.cluster.nodes[0]
    assert node.process is not None
    with contextlib.suppress(OSError):  # the node takes up room meanwhile
        fill(at.disk)
    wait_until(partial(_has_ended, node), what="a node to end")
    node.kill()
    yield
    (at.disk / BALLAST).unlink()
    node.start()


FAULTS: tuple[Fault, ...] = (
    cut_off_with_a_collector,
    cut_off_alone,
    cut_off_from_the_cluster,
    mute,
    deaf,
    slow_and_lossy,
    lagging_replica_takes_over,
    parted_replica_takes_over,
    stepping_clocks,
    full_disk,
)

BY_DEGREES = {slow_and_lossy, lagging_replica_takes_over, parted_replica_takes_over, stepping_clocks}
"""The faults that cut nobody off from collectors while they last."""


@contextlib.contextmanager
def deployed(folder: Path) -> Iterator[Deployment]:
    """Run a cluster on its own hosts until the context ends. Within the context this thread is on
    the devices' host.
    """
    program("faketime")
    disk = folder / "disk"
    with mounted(disk, DISK_MEGABYTES), running_network([*NODES, *COLLECTORS, OUTSIDE]) as network:
        nodes = []
        for number, name in enumerate(NODES):
            set_clock(folder, name, 0)
            host, place = network.hosts[name], (disk if number == 0 else folder) / name
            nodes.append(Node(place, PORT + number, host.address, host.entered, by_clock(folder, name)))
        with network.hosts[OUTSIDE].entered(), running_nodes(nodes, MASTERS) as cluster, cluster.failing_over_quickly():
            yield Deployment(network, cluster, disk, folder)


def by_clock(folder: Path, name: str) -> list[str]:
    """Return the command prefix that gives a program a host's clock; the library's shared memory
    goes with the process.
    """
    settings = {
        "LD_PRELOAD": CLOCK_LIBRARY,
        "FAKETIME_TIMESTAMP_FILE": str(folder / f"{name}.clock"),
        "FAKETIME_CACHE_DURATION": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
    script = 'mount -t tmpfs tmpfs /dev/shm && exec env "$@"'
    return [*("unshare", "--mount", "sh", "-c", script, "sh"), *(f"{key}={value}" for key, value in settings.items())]


def set_clock(folder: Path, name: str, offset_s: int) -> None:
    """Write how far ahead a host's clock is, in one step."""
    fresh = folder / f"{name}.clock-to-be"
    fresh.write_text(f"{offset_s:+}\n", encoding="utf-8")
    fresh.replace(folder / f"{name}.clock")


def _is_ahead(node: Node, offset_s: int) -> bool:
    seconds, _ = node.client.time()
    return bool(abs(seconds - time.time() - offset_s) < HOUR_S / 2)


def _is_down(node: Node) -> bool:
    return "cluster_state:fail" in node.ask("CLUSTER", "INFO")


def _has_ended(node: Node) -> bool:
    return node.process is None or node.process.poll() is not None
