"""How long uploads that come at random times wait, at seven tenths of what a worker can take."""

from __future__ import annotations

import multiprocessing
import socket
import tempfile
import time
from collections.abc import Sequence
from math import ceil
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random
from statistics import median

from client_sdk.spec import Registry
from tests.bench.collector import REGISTRY, ours
from tests.bench.load import ANSWER_TIMEOUT_S, read_answer, request, send_all, uploads
from tests.bench.results import spread, table, verdict

ROUNDS = 3
CAPACITY_UPLOADS = 4000
SECONDS = 5.0
LOAD = 0.7
SENDERS = 16
"""As many as the worker has threads: an upload waits for the worker, hardly ever for the one before it."""

SEED = 20_261_121
QUANTILES = (0.5, 0.99, 0.999)
MOST = 5.0


def measure_latency() -> str:
    """Return the section of the results."""
    registry = Registry.load(REGISTRY)
    with tempfile.TemporaryDirectory(prefix="hearsay-bench-") as folder, ours(Path(folder)) as (port, _):
        rounds = [_round(registry, port, Random(SEED + number)) for number in range(ROUNDS)]  # noqa: S311 a seeded draw of this bench, no secret
    figures = [[quantile(waits, part) * 1e3 for _, waits in rounds] for part in QUANTILES]
    found = median(tail / middle for middle, tail in zip(figures[0], figures[1], strict=True))
    rows = [["capacity, uploads/s", spread([capacity for capacity, _ in rounds])]]
    rows += [
        [f"{part:.1%} are answered within, ms", spread(values, 2)]
        for part, values in zip(QUANTILES, figures, strict=True)
    ]
    return (
        "## Latency\n\n"
        f"One worker; uploads at random times (Poisson) for {SECONDS:.0f} s at {LOAD:.0%} of the capacity found just "
        f"before, on {SENDERS} connections;\nfrom the time when an upload was to be sent, whatever was in its way; "
        f"`appendfsync always`; {ROUNDS} rounds, median (range).\n\n"
        + table(("what", "figure"), rows)
        + "\n99 % over the median: "
        + verdict(found <= MOST, f"{found:.1f}", f"≤ {MOST:.0f}")
    )


def _round(registry: Registry, port: int, random: Random) -> tuple[float, list[float]]:
    """Return what the worker can take, uploads a second, and how long each of those waited that came at less."""
    requests = [request("/v1/reports", body) for body in uploads(registry, CAPACITY_UPLOADS)]
    capacity = len(requests) / send_all(port, requests)
    number = round(capacity * LOAD * SECONDS)
    requests = [request("/v1/reports", body) for body in uploads(registry, number)]
    return capacity, waits(port, requests, sorted(random.uniform(0, SECONDS) for _ in requests))


def quantile(values: Sequence[float], part: float) -> float:
    """Return the value that this part of all does not exceed."""
    return sorted(values)[ceil(part * len(values)) - 1]


def waits(port: int, requests: Sequence[bytes], due_s: Sequence[float]) -> list[float]:
    """Send requests when they are due, and return the seconds from then to each whole answer.

    Args:
        port: where the server listens.
        requests: what to send, whole requests.
        due_s: when to send each, in seconds from the beginning.

    Raises:
        RuntimeError: if an answer is not the expected one.

    """
    context = multiprocessing.get_context("fork")
    began = time.perf_counter() + 0.2  # when every sender runs
    senders, ends = [], []
    for index in range(SENDERS):
        end, other = context.Pipe(duplex=False)
        share = list(zip(requests[index::SENDERS], due_s[index::SENDERS], strict=True))
        senders.append(context.Process(target=_send, args=(port, share, began, other)))
        senders[-1].start()
        other.close()
        ends.append(end)
    try:
        found = [wait for end in ends for wait in end.recv()]
    except EOFError:
        raise RuntimeError("a request was not answered as expected") from None
    for sender in senders:
        sender.join()
    return found


def _send(port: int, share: Sequence[tuple[bytes, float]], began: float, result: Connection) -> None:
    found = []
    with socket.create_connection(("127.0.0.1", port), ANSWER_TIMEOUT_S) as connection:
        for message, due_s in share:
            time.sleep(max(0.0, began + due_s - time.perf_counter()))
            connection.sendall(message)
            head = read_answer(connection)
            if b" 200 " not in head[:16]:
                raise RuntimeError(head.decode(errors="replace"))
            found.append(time.perf_counter() - began - due_s)
    result.send(found)
