"""How long uploads that come at random times wait, at seven tenths of what a worker can take."""

from __future__ import annotations

import contextlib
import os
import select
import socket
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from math import ceil
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

from client_sdk.spec import Registry
from tests.bench.collector import REGISTRY, ours
from tests.bench.load import ANSWER_TIMEOUT_S, read_answer, request, uploads
from tests.bench.results import spread, table, verdict

ROUNDS = 3
CAPACITY_UPLOADS = 4000
SECONDS = 4.0
LOAD = 0.7
CONNECTIONS = 64
"""Four times as many as the worker has threads: an upload waits for the worker, never for a connection."""

WRITES = 2000
UPLOAD_BYTES = 554
"""What an upload of four reports appends to the store's file: see the results of `stores`."""

SEED = 20_261_121
QUANTILES = (0.5, 0.99, 0.999)
MOST = 5.0


def measure_latency() -> str:
    """Return the section of the results."""
    registry = Registry.load(REGISTRY)
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder, ours(Path(folder)) as (port, _):
        rounds = [_round(registry, port, Path(folder), Random(SEED + number)) for number in range(ROUNDS)]  # noqa: S311 a seeded draw of this bench, no secret
    tails = [found.upload[1] / found.upload[0] for found in rounds]
    rows = [
        [
            f"{part:.1%}",
            *(
                spread([getattr(found, kind)[place] * 1e3 for found in rounds], 2)
                for kind in ("upload", "empty", "write")
            ),
        ]
        for place, part in enumerate(QUANTILES)
    ]
    return (
        "## Latency\n\n"
        f"One worker; requests at Poisson times for {SECONDS:.0f} s on {CONNECTIONS} connections, at {LOAD:.0%} of\n"
        f"the uploads that it had just taken: {spread([found.capacity for found in rounds])} a second; from the time\n"
        f"when one was to be sent, whatever was in its way; `appendfsync always`; {ROUNDS} rounds, median (range).\n"
        "Empty POSTs at the same times, and writes of an upload's size that one process brings to the same disk with\n"
        "nothing else to do, show what of it is the machine's.\n\n"
        + table(("done", "uploads within, ms", "empty POSTs within, ms", "writes within, ms"), rows)
        + "\n99 % of uploads over their median: "
        + verdict(median(tails) <= MOST, f"{median(tails):.1f}", f"≤ {MOST:.0f}")
    )


class _Round(NamedTuple):
    """What was measured in a round.

    Attributes:
        capacity: uploads a second that the worker can take.
        upload: QUANTILES of the seconds that uploads waited which came at less.
        empty: the same of empty POSTs.
        write: the same of writes to the disk.

    """

    capacity: float
    upload: list[float]
    empty: list[float]
    write: list[float]


def _round(registry: Registry, port: int, folder: Path, random: Random) -> _Round:
    requests = [request("/v1/reports", body) for body in uploads(registry, CAPACITY_UPLOADS)]
    began = time.perf_counter()
    waits(port, requests, [0.0] * CAPACITY_UPLOADS)
    capacity = CAPACITY_UPLOADS / (time.perf_counter() - began)
    number = round(capacity * LOAD * SECONDS)
    due_s = sorted(random.uniform(0, SECONDS) for _ in range(number))
    requests = [request("/v1/reports", body) for body in uploads(registry, number)]
    empty = quantiles(waits(port, [request("/empty", b"")] * number, due_s))
    return _Round(capacity, quantiles(waits(port, requests, due_s)), empty, quantiles(writes(folder)))


def writes(folder: Path) -> list[float]:
    """Return the seconds of each of some writes until they are on the disk."""
    found = []
    with (folder / "written").open("wb", buffering=0) as file:
        for _ in range(WRITES):
            began = time.perf_counter()
            file.write(bytes(UPLOAD_BYTES))
            os.fdatasync(file.fileno())
            found.append(time.perf_counter() - began)
    return found


def quantiles(values: Sequence[float]) -> list[float]:
    """Return the values that these parts of all do not exceed: QUANTILES."""
    ordered = sorted(values)
    return [ordered[ceil(part * len(values)) - 1] for part in QUANTILES]


def waits(port: int, requests: Sequence[bytes], due_s: Sequence[float]) -> list[float]:
    """Send requests when they are due, each on a free connection, and return the seconds from then to each answer.

    All from one process, which wakes up for what is due and for what is answered: a process for each connection would
    take the server's cores from it.

    Args:
        port: where the server listens.
        requests: what to send, whole requests.
        due_s: when to send each, in seconds from the beginning, the earliest first.

    Raises:
        RuntimeError: if an answer is not the expected one, or does not come.

    """
    found: list[float] = []
    answer_due: dict[socket.socket, float] = {}
    with contextlib.ExitStack() as open_ones:
        free = [
            open_ones.enter_context(socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_S))
            for _ in range(CONNECTIONS)
        ]
        coming = deque(zip(requests, due_s, strict=True))
        began = time.perf_counter()
        while coming or answer_due:
            while coming and free and began + coming[0][1] <= time.perf_counter():
                message, due = coming.popleft()
                connection = free.pop()
                connection.sendall(message)
                answer_due[connection] = began + due
            until_next = began + coming[0][1] - time.perf_counter() if coming and free else ANSWER_TIMEOUT_S
            answered, _, _ = select.select(answer_due, (), (), max(0.0, until_next))
            if not answered and until_next == ANSWER_TIMEOUT_S:
                raise RuntimeError("a request was not answered")
            for connection in answered:
                head = read_answer(connection)
                if b" 200 " not in head[:16]:
                    raise RuntimeError(head.decode(errors="replace"))
                found.append(time.perf_counter() - answer_due.pop(connection))
                free.append(connection)
    return found
