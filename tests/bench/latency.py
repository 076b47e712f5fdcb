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
from typing import NamedTuple

from client_sdk.spec import Registry
from tests.bench.collector import REGISTRY, ours
from tests.bench.load import ANSWER_TIMEOUT_S, read_answer, request, send_all, uploads
from tests.bench.results import spread, table, verdict

ROUNDS = 3
CAPACITY_UPLOADS = 4000
SECONDS = 4.0
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
    tails = [found.upload[1] / found.upload[0] for found in rounds]
    rows = [
        [
            f"{part:.1%}",
            *(spread([getattr(found, kind)[place] * 1e3 for found in rounds], 2) for kind in ("upload", "empty")),
        ]
        for place, part in enumerate(QUANTILES)
    ]
    return (
        "## Latency\n\n"
        f"One worker; requests at Poisson times for {SECONDS:.0f} s on {SENDERS} connections, at {LOAD:.0%} of\n"
        f"the uploads that it had just taken: {spread([found.capacity for found in rounds])} a second; from the time\n"
        f"when one was to be sent, whatever was in its way; `appendfsync always`; {ROUNDS} rounds, median (range).\n"
        "Empty POSTs at the same times show what of it is the machine's.\n\n"
        + table(("answered", "uploads within, ms", "empty POSTs within, ms"), rows)
        + "\n99 % of uploads over their median: "
        + verdict(median(tails) <= MOST, f"{median(tails):.1f}", f"≤ {MOST:.0f}")
    )


class _Round(NamedTuple):
    """What was measured in a round.

    Attributes:
        capacity: uploads a second that the worker can take.
        upload: QUANTILES of the seconds that uploads waited which came at less.
        empty: the same of empty POSTs.

    """

    capacity: float
    upload: list[float]
    empty: list[float]


def _round(registry: Registry, port: int, random: Random) -> _Round:
    requests = [request("/v1/reports", body) for body in uploads(registry, CAPACITY_UPLOADS)]
    capacity = len(requests) / send_all(port, requests)
    number = round(capacity * LOAD * SECONDS)
    due_s = sorted(random.uniform(0, SECONDS) for _ in range(number))
    requests = [request("/v1/reports", body) for body in uploads(registry, number)]
    empty = quantiles(waits(port, [request("/empty", b"")] * number, due_s))
    return _Round(capacity, quantiles(waits(port, requests, due_s)), empty)


def quantiles(values: Sequence[float]) -> list[float]:
    """Return the values that these parts of all do not exceed: QUANTILES."""
    ordered = sorted(values)
    return [ordered[ceil(part * len(values)) - 1] for part in QUANTILES]


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
