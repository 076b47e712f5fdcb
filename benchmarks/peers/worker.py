"""A loop in another library's environment that answers each request with a line of JSON.

This module may import only the standard library, because the environment lacks this project's
dependencies.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

FEWEST_RUNS = 5
"""The minimum number of runs, even of a slow measurement. A standard error needs several runs."""

Task = Callable[..., object]


def serve(tasks: Mapping[str, Task]) -> None:
    """Answer every request on standard input.

    A request ``{"task", "arguments"}`` gets ``{"answer"}`` or ``{"error"}``.
    """
    # output that a library prints must not be mistaken for an answer
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
    """Return 256 values to report, in an order that repeats values as late as possible."""
    return [(index * 97) % inputs for index in range(256)]


def rate(perturb: Callable[..., object], calls: Sequence[tuple[Any, ...]], seconds: float) -> float:
    """Measure calls per second in a loop over the same few arguments.

    A first call before the loop prepares what later calls reuse.
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
    """Repeat the drawn reports until there are ``reports`` of them.

    A server needs the same time for repeated and for different reports.
    """
    return (list(drawn) * (reports // len(drawn) + 1))[:reports]


def enough(run: int, runs: int, started: float, seconds: float) -> bool:
    """Return whether to stop: after all runs, or after `FEWEST_RUNS` if the time is over."""
    return run >= runs or (run >= FEWEST_RUNS and time.perf_counter() - started > seconds)
