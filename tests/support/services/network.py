"""A network of the test's own: hosts in network namespaces, joined by a router that can cut, delay
and drop.

The namespaces have no names, and their devices belong to them: the kernel removes both with the
last process inside, however the tests end. Nothing outside of them is changed, so any number of
networks can run at once.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.services import kernel
from tests.support.services.kernel import CLONE_NEWNET
from tests.support.services.packets import CUT, Link
from tests.support.services.processes import started
from tests.support.services.programs import require_mark

PREFIX = "10.77.0."
MASK = "255.255.255.0"

TUNSETIFF = 0x4004_54CA
"""As in if_tun.h; the other constants are of if_tun.h, if.h and sockios.h."""

IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
IFF_UP, IFF_RUNNING = 0x1, 0x40
SIOCSIFFLAGS, SIOCSIFADDR, SIOCSIFNETMASK = 0x8914, 0x8916, 0x891C

TUN = "/dev/net/tun"

NEEDED = (
    f"this test makes hosts of its own, and so needs root, network namespaces and {TUN} (modprobe tun; for a container "
    f"--cap-add NET_ADMIN --cap-add SYS_ADMIN --device {TUN})"
)


@dataclass(frozen=True)
class Host:
    """One host.

    Attributes:
        address: of its only device.
        namespace: a descriptor of its network namespace.
        device: a descriptor of its TUN device.

    """

    address: str
    namespace: int
    device: int

    @contextlib.contextmanager
    def entered(self) -> Iterator[None]:
        """Put this thread on the host: the sockets that it opens, and the processes and threads
        that it starts.
        """
        before = _own_namespace()
        kernel.enter(self.namespace, CLONE_NEWNET)
        try:
            yield
        finally:
            kernel.enter(before, CLONE_NEWNET)
            os.close(before)


@dataclass
class Network:
    """Hosts, and the links between them that are impaired.

    Attributes:
        hosts: by name.
        broken_at_s: when the first of these links broke, by the monotonic clock.

    """

    hosts: Mapping[str, Host]
    _router: subprocess.Popen[bytes]
    _links: dict[tuple[str, str], Link] = field(default_factory=dict)
    broken_at_s: float = 0.0

    def set(self, link: Link, sources: Iterable[str], targets: Iterable[str]) -> None:
        """Set the links from some hosts to others, in this direction."""
        targets = list(targets)
        self.broken_at_s = self.broken_at_s if self._links else time.monotonic()
        for source in sources:
            self._links |= {(source, target): link for target in targets if target != source}
        self._tell()

    def part(self, hosts: Iterable[str], others: Iterable[str]) -> None:
        """Cut the links between two groups of hosts, in both directions."""
        groups = list(hosts), list(others)
        self.set(CUT, *groups)
        self.set(CUT, *reversed(groups))

    def heal(self) -> None:
        """Restore all links."""
        self._links = {}
        self._tell()

    def _tell(self) -> None:
        assert self._router.stdin is not None
        assert self._router.stdout is not None
        links = [
            (self.hosts[source].address, self.hosts[target].address, link)
            for (source, target), link in self._links.items()
        ]
        self._router.stdin.write(json.dumps(links).encode() + b"\n")
        self._router.stdin.flush()
        assert self._router.stdout.readline(), "the router has ended"


@contextlib.contextmanager
def running_network(names: Iterable[str]) -> Iterator[Network]:
    """Run a network of hosts until the context ends.

    Raises:
        AssertionError: if hosts cannot be made here; it says what they need.

    """
    require_mark("hosts of its own")
    with contextlib.ExitStack() as opened:
        try:
            hosts = {name: _host(number, opened) for number, name in enumerate(names, 1)}
        except OSError as error:
            raise AssertionError(f"{NEEDED}: {error}") from error
        devices = [host.device for host in hosts.values()]
        router = started(
            [sys.executable, "-m", "tests.support.services.packets", *map(str, devices)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=devices,
            cwd=Path(__file__).parents[2],
        )
        network = Network(hosts, router)
        try:
            network.heal()
            yield network
        finally:
            router.communicate()


def _host(number: int, opened: contextlib.ExitStack) -> Host:
    """Make a host, and return to where this thread was."""
    address = f"{PREFIX}{number}"
    before = _own_namespace()
    try:
        kernel.unshare(CLONE_NEWNET)
        namespace = _own_namespace()
        opened.callback(os.close, namespace)
        device = os.open(TUN, os.O_RDWR)
        opened.callback(os.close, device)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", b"tun0", IFF_TUN | IFF_NO_PI))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as control:
            for request, value in ((SIOCSIFADDR, address), (SIOCSIFNETMASK, MASK)):
                fcntl.ioctl(control, request, struct.pack("16sHH4s16x", b"tun0", socket.AF_INET, 0, _packed(value)))
            for name in (b"lo", b"tun0"):
                fcntl.ioctl(control, SIOCSIFFLAGS, struct.pack("16sH22x", name, IFF_UP | IFF_RUNNING))
        return Host(address, namespace, device)
    finally:
        kernel.enter(before, CLONE_NEWNET)
        os.close(before)


def _packed(address: str) -> bytes:
    return socket.inet_aton(address)


def _own_namespace() -> int:
    """Return a descriptor of the namespace that this thread is in."""
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)
