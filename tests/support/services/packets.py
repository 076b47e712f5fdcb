"""The router between the hosts of a test: passes packets on at once, late, or not at all. It is its
own program.

A link is a pair of addresses, in one direction. The kernel decides how TCP reacts to a lost packet,
or to a peer whose answers do not get through.

Start it as ``python -m tests.support.services.packets DESCRIPTOR...``, with a TUN device for each
host. Each line of JSON on standard input lists all impaired links; the program answers it with a
line. The program ends with its standard input.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
import random
import select
import socket
import sys
import time
from typing import NamedTuple

MOST_BYTES = 65_536

SOURCE, TARGET = slice(12, 16), slice(16, 20)
"""Where an IPv4 packet has its addresses (RFC 791, section 3.1)."""

IPV4 = 4


class Link(NamedTuple):
    """How packets go from one host to another.

    Attributes:
        loss: the probability that a packet is lost.
        delay_s: the delay of a packet, in seconds.

    """

    loss: float = 0.0
    delay_s: float = 0.0


CUT = Link(loss=1.0)

AS_IT_SHOULD_BE = Link()


class Router:
    """Passes packets on."""

    def __init__(self, coins: random.Random, devices: list[int]) -> None:
        """Take the coins of losses, and the hosts' devices: the host with the address x.x.x.N has
        the Nth device.
        """
        self._coins = coins
        self._devices = devices
        self._links: dict[tuple[bytes, bytes], Link] = {}
        self._late: list[tuple[float, int, bytes]] = []
        self._count = itertools.count()

    def run(self) -> None:
        """Pass packets on until standard input ends."""
        poll = select.poll()
        for descriptor in (0, *self._devices):
            poll.register(descriptor, select.POLLIN)
        while True:
            for descriptor, _ in poll.poll(self._wait_ms()):
                if descriptor:
                    self._take(descriptor)
                elif not self._obey():
                    return
            self._deliver_due()

    def _wait_ms(self) -> float | None:
        return max(0.0, self._late[0][0] - time.monotonic()) * 1000 if self._late else None

    def _obey(self) -> bool:
        """Take new links; return False if there will be no more."""
        line = sys.stdin.buffer.readline()
        if not line:
            return False
        self._links = {
            (socket.inet_aton(source), socket.inet_aton(target)): Link(*link)
            for source, target, link in json.loads(line)
        }
        sys.stdout.write("\n")
        sys.stdout.flush()
        return True

    def _take(self, descriptor: int) -> None:
        packet = os.read(descriptor, MOST_BYTES)
        if packet[0] >> 4 != IPV4:  # the kernel looks for IPv6 routers
            return
        link = self._links.get((packet[SOURCE], packet[TARGET]), AS_IT_SHOULD_BE)
        if link.loss and self._coins.random() < link.loss:
            return
        if link.delay_s:
            heapq.heappush(self._late, (time.monotonic() + link.delay_s, next(self._count), packet))
        else:
            self._deliver(packet)

    def _deliver_due(self) -> None:
        now_s = time.monotonic()
        while self._late and self._late[0][0] <= now_s:
            self._deliver(heapq.heappop(self._late)[2])

    def _deliver(self, packet: bytes) -> None:
        number = packet[TARGET][-1]
        if 1 <= number <= len(self._devices):
            os.write(self._devices[number - 1], packet)


if __name__ == "__main__":
    Router(random.Random(0), list(map(int, sys.argv[1:]))).run()  # noqa: S311 losses, no secrets
