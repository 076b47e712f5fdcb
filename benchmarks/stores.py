"""The cost of uploads on stores with different guarantees against loss, and on a cluster.

All servers share one machine, so the figures can be compared only with each other.
"""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any

import redis

from benchmarks.collector import REGISTRY
from benchmarks.load import request, send_all, uploads
from benchmarks.results import spread, table
from client_sdk.protocol import Registry
from collector.embedded.store import SETTINGS, server_program
from tests.support.services.cluster import running_cluster
from tests.support.services.processes import cpu_seconds, free_port, running_collector, wait_until

ROUNDS = 3
UPLOADS = 3000
MASTERS = 3


@dataclass
class Setting:
    """A collector on its own stores.

    ``stores`` contains a client of each server, by the server's process id. Other attributes have
    one value per round. Times are microseconds per upload, and sizes are bytes per upload.
    """

    port: int
    stores: Mapping[int, Any]
    per_s: list[float] = field(default_factory=list)
    store_us: list[float] = field(default_factory=list)
    file_bytes: list[float] = field(default_factory=list)


def measure_stores() -> str:
    registry = Registry.load(REGISTRY)
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as name, contextlib.ExitStack() as running:
        folder = Path(name)
        settings = {
            "`fsync`, one server": running.enter_context(on_servers(folder / "fsync")),
            "`replicated`, a server and its replica": running.enter_context(
                on_servers(folder / "replicated", "--durability", "replicated", replicas=1)
            ),
            f"`fsync`, a cluster of {MASTERS} masters": running.enter_context(on_cluster(folder / "cluster")),
        }
        for _ in range(ROUNDS):
            for setting in settings.values():
                _measure(setting, registry)
    fsync = settings["`fsync`, one server"]
    rows = [
        [
            *(what, spread(setting.per_s), f"{_ratio(setting, fsync):.2f}"),
            *(spread(setting.store_us), spread(setting.file_bytes)),
        ]
        for what, setting in settings.items()
    ]
    heading = (
        "durability",
        "uploads/s",
        "relative to `fsync`",
        "CPU of all servers, µs per upload",
        "bytes appended per upload",
    )
    return (
        "## Stores\n\n"
        f"In each of {ROUNDS} rounds, collectors with one worker take turns. Each gets {UPLOADS:,} uploads of 4\n"
        "reports on 8 connections, as fast as possible. All servers share one disk and the cores, so only ratios\n"
        "are meaningful. Cells show the median (range).\n\n" + table(heading, rows)
    )


def _ratio(setting: Setting, other: Setting) -> float:
    return median(rate / other_rate for rate, other_rate in zip(setting.per_s, other.per_s, strict=True))


def _measure(setting: Setting, registry: Registry) -> None:
    requests = [request("/v1/reports", body) for body in uploads(registry, UPLOADS)]
    busy_s, size = _busy_s(setting), _file_bytes(setting)
    setting.per_s.append(UPLOADS / send_all(setting.port, requests))
    setting.store_us.append((_busy_s(setting) - busy_s) / UPLOADS * 1e6)
    setting.file_bytes.append((_file_bytes(setting) - size) / UPLOADS)


def _busy_s(setting: Setting) -> float:
    return sum(map(cpu_seconds, setting.stores))


def _file_bytes(setting: Setting) -> int:
    """Return the total size of the append-only files, without the replicas' files."""
    masters = (store for store in setting.stores.values() if store.info("replication")["role"] == "master")
    return sum(store.info("persistence").get("aof_current_size", 0) for store in masters)


@contextlib.contextmanager
def on_servers(folder: Path, *options: str, replicas: int = 0) -> Iterator[Setting]:
    """Run a collector on one store, with a number of replicas."""
    with contextlib.ExitStack() as running:
        ports = [free_port() for _ in range(1 + replicas)]
        copies: list[dict[str, str]] = [{}, *[{"replicaof": f"127.0.0.1 {ports[0]}"}] * replicas]
        stores = dict(
            running.enter_context(server(folder / str(port), port, SETTINGS | copy))
            for port, copy in zip(ports, copies, strict=True)
        )
        wait_until(
            lambda: _in_step(next(iter(stores.values())), replicas), what="a replica to be in step with its server"
        )
        url = f"redis://127.0.0.1:{ports[0]}"
        with running_collector(REGISTRY, folder / "data", "--redis", url, *options) as collector:
            yield Setting(_port(collector.url), stores)


def _in_step(store: Any, replicas: int) -> bool:
    facts = store.info("replication")
    return all(facts.get(f"slave{number}", {}).get("state") == "online" for number in range(replicas))


@contextlib.contextmanager
def on_cluster(folder: Path) -> Iterator[Setting]:
    folder.mkdir()
    with (
        running_cluster(folder, MASTERS, replicas=0) as nodes,
        running_collector(REGISTRY, folder / "data", "--redis", nodes.url, "--cluster") as collector,
    ):
        yield Setting(_port(collector.url), {node.pid: node.client for node in nodes.nodes})


@contextlib.contextmanager
def server(folder: Path, port: int, settings: dict[str, str]) -> Iterator[tuple[int, Any]]:
    """Run a store on a port. Yield the store's process id and a client."""
    folder.mkdir(parents=True)
    own = {"port": str(port), "bind": "127.0.0.1", "dir": str(folder), "logfile": str(folder / "log")}
    words = (word for name, value in (settings | own).items() for word in (f"--{name}", *value.split(" ")))
    client = redis.Redis(port=port, decode_responses=True)
    with subprocess.Popen([server_program(), *words], stdout=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: _answers(client), what="a store")
            yield process.pid, client
        finally:
            client.close()
            process.terminate()


def _answers(client: Any) -> bool:
    try:
        return bool(client.ping())
    except redis.RedisError:
        return False


def _port(url: str) -> int:
    return int(url.rpartition(":")[2])
