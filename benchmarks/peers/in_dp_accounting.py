"""dp-accounting 0.6, in its own environment: `python -m benchmarks.peers.in_dp_accounting`."""

from __future__ import annotations

import time
from importlib import import_module
from importlib.metadata import version
from typing import Any

from benchmarks.peers.worker import serve


def hello() -> str:
    """Import the peer and return its version."""
    import_module("dp_accounting")
    return version("dp-accounting")


def composed(inputs: int, noise: float, reports: int, delta: float) -> dict[str, float]:
    """Return the epsilon of many k-ary randomized responses: by its distribution of losses, and by
    its accountant.

    Args:
        inputs: k.
        noise: how often the answer is replaced by a uniform draw from all values.
        reports: the number of responses.
        delta: the delta at which epsilon holds.

    """
    losses = import_module("dp_accounting.pld.privacy_loss_distribution")
    started = time.perf_counter()
    epsilon = losses.from_randomized_response(noise, inputs).self_compose(reports).get_epsilon_for_delta(delta)
    return {
        "epsilon": epsilon,
        "seconds": time.perf_counter() - started,
        "accountant": _accountant(inputs, noise, reports, delta),
    }


def _accountant(inputs: int, noise: float, reports: int, delta: float) -> float:
    events: Any = import_module("dp_accounting")
    accountant = import_module("dp_accounting.pld.pld_privacy_accountant").PLDAccountant(
        events.NeighboringRelation.REPLACE_ONE
    )
    accountant.compose(events.SelfComposedDpEvent(events.RandomizedResponseDpEvent(noise, inputs), reports))
    return float(accountant.get_epsilon(delta))


if __name__ == "__main__":
    serve({"hello": hello, "composed": composed})
