"""Runs pure-ldp 1.2.0 in a separate environment: `python -m benchmarks.peers.in_pure_ldp`."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import version
from typing import Any

import numpy as np

from benchmarks.peers.worker import enough, rate, repeated, serve, values_of

HASHES = 1000
"""The number of hash functions of FLH (fast local hashing). Each device draws one function."""

SEED = 1
SKETCH_HASHES = 16
SKETCH_SIZE = 1024

BEGINNINGS = 3
"""The number of letters that each group of PEM (prefix extending method) adds.

With three or more letters, PEM would search for hours. With one or two letters, PEM finds fewer
strings.
"""

PADDING = "*"
"""The letter that pads strings to the same length, in both protocols."""

AT_ONCE = 4096
"""The maximum number of reports in memory at a time. Reports of sketches (CMS) are long."""

NORMALIZATIONS = {"additive": 1, "simplex": 2, "threshold": 3}


def _same(value: int) -> int:
    return value


def pair(channel: str, inputs: int, epsilon: float) -> tuple[Any, Callable[[], Any]]:
    """Return pure-ldp's client for a channel, and a function that creates its server."""
    oracles = import_module("pure_ldp.frequency_oracles")
    same: dict[str, Any] = {"epsilon": epsilon, "d": inputs, "index_mapper": _same}
    if channel == "HR":
        server = oracles.HadamardResponseServer(**same)
        client = oracles.HadamardResponseClient(hash_funcs=server.get_hash_funcs(), **same)
        return client, lambda: server
    kinds: dict[str, tuple[str, dict[str, Any]]] = {
        "GRR": ("DE", {}),
        "OUE": ("UE", {"use_oue": True}),
        "OLH": ("LH", {"use_olh": True}),
        "FLH": ("FastLH", {"use_olh": True, "k": HASHES}),
    }
    name, more = kinds[channel]
    client, server_class = getattr(oracles, f"{name}Client"), getattr(oracles, f"{name}Server")
    return client(**same, **more), lambda: server_class(**same, **more)


def probabilities(channel: str, inputs: int, epsilon: float) -> tuple[float, float] | None:
    """Return two probabilities: that a report supports the device's value, and any other value.

    Return None if these two probabilities do not determine the channel.
    """
    odds = math.exp(epsilon)
    return {"GRR": (odds / (odds + inputs - 1), 1 / (odds + inputs - 1)), "OUE": (0.5, 1 / (odds + 1))}.get(channel)


def hello() -> str:
    import_module("pure_ldp.frequency_oracles")
    return version("pure-ldp")


def client(channel: str, inputs: int, epsilon: float, seconds: float) -> float:
    perturbing, _ = pair(channel, inputs, epsilon)
    return rate(perturbing.privatise, [(value,) for value in values_of(inputs)], seconds)


def server(channel: str, inputs: int, epsilon: float, reports: int, drawn: int) -> dict[str, float]:
    """Measure the seconds from a list of reports to all estimates.

    The seconds to prepare the server are measured separately.
    """
    perturbing, make = pair(channel, inputs, epsilon)
    many = repeated([perturbing.privatise(index % inputs) for index in range(drawn)], reports)
    started = time.perf_counter()
    collecting = make()
    ready = time.perf_counter()
    collecting.aggregate_all(many)
    collecting.estimate_all(range(inputs), suppress_warnings=True)
    return {"seconds": time.perf_counter() - ready, "start": ready - started}


def accuracy(channel: str, epsilon: float, counts: list[int], runs: int, seconds: float) -> dict[str, Any]:
    """Return the estimates of several runs, without and with the peer's post-processing."""
    inputs, reports = len(counts), sum(counts)
    values = np.repeat(np.arange(inputs), counts).tolist()
    perturbing, make = pair(channel, inputs, epsilon)
    collecting = make()
    estimates_by: dict[str, list[list[float]]] = {name: [] for name in ("raw", *NORMALIZATIONS)}
    started = time.perf_counter()
    while not enough(len(estimates_by["raw"]), runs, started, seconds):
        collecting.reset()
        for value in values:
            collecting.aggregate(perturbing.privatise(value))
        for name, number in {"raw": 0, **NORMALIZATIONS}.items():
            estimates = collecting.estimate_all(range(inputs), suppress_warnings=True, normalization=number)
            estimates_by[name].append((estimates / reports).tolist())
    return {"raw": estimates_by.pop("raw"), "posts": estimates_by, "law": probabilities(channel, inputs, epsilon)}


def strings(method: str, epsilon: float, counts: dict[str, int], length: int, top: int) -> dict[str, Any]:
    """Return the most frequent strings that a protocol (PEM or SFP) finds, and the times.

    The times are seconds for each device, for each report at the server, and for the search. In
    both protocols, devices report with Apple's CMS. With the library's default, local hashing, a
    device of PEM would hash every prefix.
    """
    with_old_zeros()
    random.seed(SEED)
    np.random.seed(SEED)  # noqa: NPY002 the peer's generator
    perturbing, collecting = finder(method, epsilon, length, set("".join(counts)))
    answers = [text for text, count in counts.items() for _ in range(count)]
    client_s = server_s = 0.0
    for first in range(0, len(answers), AT_ONCE):
        begun = time.process_time()
        reports = [perturbing.privatise(answer) for answer in answers[first : first + AT_ONCE]]
        halfway = time.process_time()
        for report in reports:
            collecting.aggregate(report)
        client_s += halfway - begun
        server_s += time.process_time() - halfway
    begun = time.process_time()
    hitters, frequencies = collecting.find_heavy_hitters(k=top)
    ranked = sorted(zip(frequencies, hitters, strict=True), reverse=True)[:top]
    return {
        "found": [text.rstrip(PADDING) for _, text in ranked],
        "client": client_s / len(answers),
        "server": server_s / len(answers),
        "search": time.process_time() - begun,
    }


def finder(method: str, epsilon: float, length: int, letters: set[str]) -> tuple[Any, Any]:
    """Return a client and a server of PEM or SFP, for strings of at most `length` letters."""
    oracles, finders = import_module("pure_ldp.frequency_oracles.apple_cms"), import_module("pure_ldp.heavy_hitters")
    sketch = oracles.CMSServer(epsilon, SKETCH_HASHES, SKETCH_SIZE)
    oracle = oracles.CMSClient(epsilon, sketch.get_hash_funcs(), SKETCH_SIZE)
    same: dict[str, Any] = {"epsilon": epsilon, "max_string_length": length, "index_mapper": _text}
    if method == "PEM":
        same |= {"start_length": 0, "fragment_length": BEGINNINGS, "alphabet": sorted({*letters, PADDING})}
        return finders.PEMClient(fo_client=oracle, **same), finders.PEMServer(fo_server=sketch, **same)
    same |= {"fragment_length": 2, "alphabet": letters}
    return finders.SFPClient(fo_client=oracle, **same), finders.SFPServer(fo_server=sketch, **same)


def _text(text: str) -> str:
    return text


def with_old_zeros() -> None:
    """Make ``np.zeros(None)`` return a scalar, as in older versions of numpy.

    pure-ldp makes this call, which raises an error since numpy 2.4.
    """
    zeros = np.zeros
    np.zeros = lambda shape, *more, **named: zeros(() if shape is None else shape, *more, **named)  # type: ignore[assignment,misc]


if __name__ == "__main__":
    serve({"hello": hello, "client": client, "server": server, "accuracy": accuracy, "strings": strings})
