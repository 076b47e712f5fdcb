"""Runs opendp 0.16 in a separate environment: `python -m benchmarks.peers.in_opendp`."""

from __future__ import annotations

import math
import time
from importlib import import_module
from importlib.metadata import version
from typing import Any

from benchmarks.peers.worker import rate, repeated, serve, values_of


def library() -> Any:
    opendp = import_module("opendp.prelude")
    opendp.enable_features("contrib")
    return opendp


def flip(epsilon: float) -> float:
    """Return RAPPOR's parameter f for bit vectors with one bit set: epsilon = 2 ln((2 - f) / f)."""
    return 2 / (math.exp(epsilon / 2) + 1)


def measurement(channel: str, inputs: int, epsilon: float) -> Any:
    """Return opendp's object for a channel, after a check of the object's epsilon."""
    dp, odds = library(), math.exp(epsilon)
    if channel == "bit vector":
        perturb = dp.m.make_randomized_response_bitvec(
            dp.bitvector_domain(max_weight=1), dp.discrete_distance(), f=flip(epsilon)
        )
    elif inputs == 2:
        perturb = dp.m.make_randomized_response_bool(odds / (odds + 1))
    else:
        perturb = dp.m.make_randomized_response(list(range(inputs)), odds / (odds + inputs - 1))
    if not math.isclose(perturb.map(1), epsilon, rel_tol=1e-9):
        raise ValueError(f"epsilon is {perturb.map(1)}, not {epsilon}")
    return perturb


def encoded(channel: str, inputs: int) -> list[Any]:
    """Return values to report, in opendp's form for this channel."""
    values = values_of(inputs)
    if channel == "bit vector":
        return [(1 << value).to_bytes(inputs // 8, "little") for value in values]
    return [bool(value) for value in values] if inputs == 2 else values


def hello() -> str:
    library()
    return version("opendp")


def client(channel: str, inputs: int, epsilon: float, seconds: float) -> float:
    return rate(measurement(channel, inputs, epsilon), [(value,) for value in encoded(channel, inputs)], seconds)


def server(channel: str, inputs: int, epsilon: float, reports: int, drawn: int) -> dict[str, float]:
    """Measure the seconds from a list of reports to all estimates.

    Of these channels, opendp has estimates only for bit vectors.
    """
    perturb, values = measurement(channel, inputs, epsilon), encoded(channel, inputs)
    many = repeated([perturb(values[index % len(values)]) for index in range(drawn)], reports)
    started = time.perf_counter()
    library().m.debias_randomized_response_bitvec(many, flip(epsilon))
    return {"seconds": time.perf_counter() - started, "start": 0.0}


if __name__ == "__main__":
    serve({"hello": hello, "client": client, "server": server})
