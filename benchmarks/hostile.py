"""The memory of the whole store divided by the number of uploads, hostile or honest."""

from __future__ import annotations

import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

import redis

from benchmarks.held import held_bytes, store_in_memory
from benchmarks.results import table, verdict
from collector.api.batch import MAX_BULK_UPLOADS
from collector.store.redis_store import RedisStore
from tests.support.services.collecting import judged
from tests.support.services.hostile_uploads import HONEST, HOSTILE, Kind

UPLOADS = 100_000
BYTES_A_COUNTED_REPORT = 1
ROUNDING_BYTES = 1
"""The allowed difference of two averages. Buckets of upload ids are not equally full."""


def measure_hostile() -> str:
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder, store_in_memory(Path(folder)) as (store, url):
        server = redis.Redis.from_url(url)
        honest = _left(server, store, HONEST)
        left = {name: _left(server, store, kind) for name, kind in HOSTILE.items()}
    rows = [["an honest upload", str(HONEST.counted), f"{honest:.1f}"]]
    rows += [[name, str(HOSTILE[name].counted), f"{each:.1f}"] for name, each in left.items()]
    most = max(each - BYTES_A_COUNTED_REPORT * HOSTILE[name].counted for name, each in left.items())
    return (
        "## What hostile uploads leave\n\n"
        f"The store's own script counts {UPLOADS:,} uploads of each kind. The memory is that of the server without\n"
        "its buffers (`INFO memory`), and includes tallies and their index.\n\n"
        + table(("an upload", "reports counted", "bytes left per upload"), rows)
        + "\nThe most bytes that a hostile upload leaves, apart from a byte for each counted report: "
        + verdict(
            most <= honest + ROUNDING_BYTES,
            f"{most:.1f} bytes",
            f"≤ {honest + ROUNDING_BYTES:.1f}, which is {ROUNDING_BYTES} more than an honest upload",
        )
    )


def _left(server: Any, store: RedisStore, kind: Kind) -> float:
    server.flushall()
    store.prepare()
    store.count_all([judged(HONEST.make(0))])
    before = held_bytes(server)
    numbers = iter(range(UPLOADS))
    while batch := list(islice(numbers, MAX_BULK_UPLOADS)):
        store.count_all([judged(kind.make(number)) for number in batch])
    return (held_bytes(server) - before) / UPLOADS
