"""The memory that a store needs for 10^7 reports, and the time of backups.

The size of tallies does not depend on the number of reports. The store also remembers the id of
each upload.
"""

from __future__ import annotations

import secrets
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any

import redis

from benchmarks.collector import REGISTRY
from benchmarks.results import table, verdict
from client_sdk.protocol import GRACE_S, Registry, Report, Upload, Window
from collector.api.batch import MAX_BULK_UPLOADS
from collector.embedded.store import EmbeddedStore
from collector.judge import Judgement, judge
from collector.required_settings import NO_PROMISE
from collector.store.redis_store import RedisStore

IDS = (100_000, 1_000_000)
"""The measured numbers of upload ids in one window."""

REPORTS = 10
"""The number of reports in an upload. A million uploads contain 10^7 reports."""

SHAPES = 64
"""The number of different uploads, with random symbols. Each is counted many times under new ids.
"""

SEED = 20_261_121
MOST_TALLY_BYTES = 2**20
MOST_ID_BYTES = 40


def measure_held() -> str:
    rows, verdicts = [], []
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder, store_in_memory(Path(folder)) as (store, url):
        server = redis.Redis.from_url(url)
        fill(store, 1)
        before, tallies_before = held_bytes(server), tallies_bytes(server)
        ids = 1
        for target in IDS:
            fill(store, target - ids)
            ids = target
            tallies = tallies_bytes(server)
            each = (held_bytes(server) - before - (tallies - tallies_before)) / ids
            filled = mean(server.zcard(key) for key in buckets(server))
            rows.append([f"{ids:,}", f"{ids * REPORTS:,}", f"{tallies:,}", f"{each:.1f}", f"{filled:.0f}"])
            verdicts.append(f"{ids:,} ids: " + verdict(each <= MOST_ID_BYTES, f"{each:.1f} bytes per id", "≤ 40"))
            if target == IDS[0]:
                export_s, import_s = backup_seconds(url, Path(folder))
        grown = tallies - tallies_before
    return (
        "## What a store holds\n\n"
        f"The store's own script counts uploads of {REPORTS} reports on the demo's metrics, all of one window. The\n"
        "memory of tallies is from `MEMORY USAGE`. All other memory is the server's, without its buffers (`INFO\n"
        "memory`).\n\n"
        + table(("upload ids", "reports", "all but ids, bytes", "bytes per id", "ids per bucket"), rows)
        + f"\n{IDS[-1] * REPORTS:,} reports increase the memory of everything but ids by: "
        + verdict(grown < MOST_TALLY_BYTES, f"{grown:,} bytes", "< 1 MiB")
        + "\n"
        + "\n".join(verdicts)
        + "\n"
        + table(
            (f"of {IDS[0]:,} ids", "seconds", "ids/s"),
            [
                [f"`{name}`, with start-up", f"{seconds:.1f}", f"{IDS[0] / seconds:,.0f}"]
                for name, seconds in (("export", export_s), ("import", import_s))
            ],
        )
    )


@contextmanager
def store_in_memory(folder: Path) -> Iterator[tuple[RedisStore, str]]:
    """Run a store, and yield the store and its address.

    The store has no append-only file, because the file does not affect the memory.
    """
    with EmbeddedStore(folder / "store") as embedded:
        redis.Redis.from_url(embedded.url).config_set("appendonly", "no")
        store = RedisStore(embedded.url, NO_PROMISE)
        store.prepare()
        yield store, embedded.url


def fill(store: RedisStore, uploads: int) -> None:
    shapes = cycle(_shapes())
    while uploads:
        batch = min(uploads, MAX_BULK_UPLOADS)
        store.count_all([next(shapes)._replace(upload=secrets.token_hex(16)) for _ in range(batch)])
        uploads -= batch


def _shapes() -> list[Judgement]:
    registry, random, now_s = Registry.load(REGISTRY), Random(SEED), time.time()  # noqa: S311 a seeded draw of this bench, no secret
    metrics = [metric for metric, _ in zip(cycle(registry.metrics.values()), range(REPORTS), strict=False)]

    def shape() -> Judgement:
        reports = tuple(
            Report(
                metric.name,
                metric.edition,
                Window.at(metric.window, now_s).text,
                random.randrange(metric.channel.symbols),
            )
            for metric in metrics
        )
        return judge(Upload(secrets.token_hex(16), reports), registry, now_s=now_s, grace_s=GRACE_S)

    return [shape() for _ in range(SHAPES)]


def held_bytes(server: Any) -> int:
    """Return the memory of the server's data, without buffers for clients and files."""
    memory = server.info("memory")
    held: int = memory["used_memory"] - memory["mem_clients_normal"] - memory["mem_aof_buffer"]
    return held


def buckets(server: Any) -> list[bytes]:
    return list(server.scan_iter("*:seen:*", count=10_000))


def tallies_bytes(server: Any) -> int:
    """Return the memory of all keys that do not contain upload ids."""
    keys = set(server.scan_iter("*", count=10_000)) - set(buckets(server))
    return sum(server.memory_usage(key, samples=0) for key in keys)


def backup_seconds(url: str, folder: Path) -> tuple[float, float]:
    backup = folder / "backup.ndjson"
    export_s = seconds("store", "export", "--redis", url, "--to", str(backup))
    with EmbeddedStore(folder / "restored") as restored:
        return export_s, seconds("store", "import", "--redis", restored.url, "--from", str(backup))


def seconds(*command: str) -> float:
    began = time.perf_counter()
    subprocess.run([sys.executable, "-m", "collector", *command], check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began
