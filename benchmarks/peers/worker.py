"""Runs in a peer's environment, beside the peer, and answers requests, one line of JSON for each.

It must not import anything of this project that needs more than the standard library.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

FEWEST_RUNS = 5
"""The minimum number of runs of a slow measurement of accuracy: a standard error needs a few."""

Task = Callable[..., object]


def serve(tasks: Mapping[str, Task]) -> None:
    """Answer every request on the standard input: ``{"task", "arguments"}`` by ``{"answer"}`` or
    ``{"error"}``.
    """
    # what a library prints must not be taken for an answer
    answers, sys.stdout = sys.stdout, sys.stderr
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer: dict[str, object] = {"answer": tasks[request["task"]](**request["arguments"])}
        except Exception as error:  # noqa: BLE001 whatever a peer raises is told by name
            answer = {"error": f"{type(error).__name__}: {error}"}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def values_of(inputs: int) -> list[int]:
    """Return values of a domain, in an order without early repetition."""
    return [(index * 97) % inputs for index in range(256)]


def rate(perturb: Callable[..., object], calls: Sequence[tuple[Any, ...]], seconds: float) -> float:
    """Return calls per second of a loop over the same few arguments, after one call that may have
    to prepare.
    """
    perturb(*calls[0])
    done = 0
    started = time.perf_counter()
    while True:
        for arguments in calls:
            perturb(*arguments)
        done += len(calls)
        elapsed_s = time.perf_counter() - started
        if elapsed_s >= seconds:
            return done / elapsed_s


def repeated(drawn: Sequence[Any], reports: int) -> list[Any]:
    """Return a number of reports that repeat the drawn ones: a server takes equally long for
    these.
    """
    return (list(drawn) * (reports // len(drawn) + 1))[:reports]


def enough(run: int, runs: int, started: float, seconds: float) -> bool:
    """Whether no further run is needed: all are done, or the time is up and a few are done."""
    return run >= runs or (run >= FEWEST_RUNS and time.perf_counter() - started > seconds)
