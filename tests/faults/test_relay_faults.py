"""Exactly once from end to end: devices, relay and collector, when the relay or the collector is
killed under load.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from tests.support.services.delivering import Load
from tests.support.services.processes import RunningCollector, is_running, kill, listens, wait_until
from tests.support.services.relaying import RunningRelay, collector_with_key, running_relay
from tests.support.services.wire import tallies

SENDERS = 32
UPLOADS_EACH = 8

GATHER = ("--gather", "0.2")


@dataclass
class Deployment:
    """A relay and a collector that can be restarted at the same addresses."""

    registry: Path
    folder: Path
    stack: contextlib.ExitStack
    collector: RunningCollector = field(init=False)
    relay: RunningRelay = field(init=False)

    def __post_init__(self) -> None:
        self.collector = self.stack.enter_context(collector_with_key(self.registry, self.folder))
        self.relay = self.stack.enter_context(running_relay(self.collector.url, self.folder, *GATHER))

    def restart_collector(self) -> None:
        port = port_of(self.collector.url)
        wait_until(lambda: not listens(port), what="the workers to end")
        self.collector = self.stack.enter_context(collector_with_key(self.registry, self.folder, port=port))

    def restart_relay(self) -> None:
        port = port_of(self.relay.url)
        wait_until(lambda: not listens(port), what="the relay to end")
        self.relay = self.stack.enter_context(running_relay(self.collector.url, self.folder, *GATHER, port=port))


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


def kill_what_mixes(deployed: Deployment) -> None:
    kill(deployed.relay.worker_pid())


def kill_relay(deployed: Deployment) -> None:
    worker = deployed.relay.worker_pid()
    kill(deployed.relay.process.pid)
    kill(worker)
    deployed.relay.process.wait()
    deployed.restart_relay()


def kill_collector(deployed: Deployment) -> None:
    store = deployed.collector.store_pid()
    kill(deployed.collector.pid)
    deployed.collector.process.wait()
    wait_until(lambda: not is_running(store), what="the store to end")
    deployed.restart_collector()


def kill_store(deployed: Deployment) -> None:
    kill(deployed.collector.store_pid())


@pytest.mark.long
@pytest.mark.parametrize("fault", [kill_what_mixes, kill_relay, kill_collector, kill_store])
def test_nothing_acknowledged_is_lost_and_nothing_counted_twice_through_a_relay(
    fault: Callable[[Deployment], None], registry_file: Path, tmp_path: Path
) -> None:
    with contextlib.ExitStack() as stack:
        deployed = Deployment(registry_file, tmp_path, stack)
        load = Load(deployed.relay.url, SENDERS, UPLOADS_EACH)
        load.wait_for(load.uploads // 4)
        fault(deployed)
        load.wait()
        counted = [sum(tally["counts"]) for tally in tallies(deployed.collector.url, "?preliminary=1")]
        assert sum(counted) == load.uploads == SENDERS * UPLOADS_EACH
