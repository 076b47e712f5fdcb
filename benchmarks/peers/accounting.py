"""What many reports reveal together: our accountant beside dp-accounting's, and the known
optimum.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Sequence

from benchmarks.peers.environments import Peer, PeerError, installed, running
from benchmarks.results import NONE, table
from client_sdk.protocol.mechanisms.k_ary_randomized_response import KAryRandomizedResponse
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from estimator.privacy.exposure import composed_epsilon, loss_of
from tests.support.laws.losses import closed_delta

DELTA = 1e-6

CASES = [(2, 1.0, 1), (2, 1.0, 31), (2, 1.0, 365), (2, 0.1, 3650), (32, 1.0, 365)]
"""Inputs, epsilon and reports."""


def accounting_section(_peers: Sequence[Peer]) -> str:
    """Return the part on composition; its peer does nothing else, so it is started here."""
    with tempfile.TemporaryFile("w+") as errors:
        try:
            with running("dp-accounting", installed("dp-accounting"), errors) as peer:
                rows, note = [_row(case, peer) for case in CASES], f"dp-accounting {peer.version}"
        except PeerError as error:
            rows, note = [_row(case, None) for case in CASES], f"dp-accounting could not be run: {error}"
    heading = ("inputs", "epsilon", "reports", "sum", "ours", "s", "its losses", "s", "its accountant", "optimum")
    return (
        "### Composition\n\n"
        f"Epsilon at delta {DELTA:g} of k-ary randomized responses; {note}. Its accountant takes the same as an\n"
        "event, and loses how often it was composed. Optimum: the closed form, for two inputs.\n\n"
        f"{table(heading, rows)}"
    )


def _row(case: tuple[int, float, int], peer: Peer | None) -> list[str]:
    inputs, epsilon, reports = case
    channel = KAryRandomizedResponse.within(RequestedEpsilon.parse(epsilon), inputs)
    started = time.perf_counter()
    ours = composed_epsilon({loss_of(channel): reports}, DELTA)
    seconds = time.perf_counter() - started
    noise = inputs * float(channel.probability(1, given=0))
    theirs = None if peer is None else peer.ask("composed", inputs=inputs, noise=noise, reports=reports, delta=DELTA)
    columns = [NONE] * 3
    if theirs is not None:
        columns = [f"{theirs['epsilon']:.5f}", f"{theirs['seconds']:.2f}", f"{theirs['accountant']:.5f}"]
    optimum = f"{_optimum(epsilon, reports):.5f}" if inputs == 2 else NONE
    return [
        str(inputs),
        f"{epsilon:g}",
        str(reports),
        f"{epsilon * reports:g}",
        f"{ours:.5f}",
        f"{seconds:.2f}",
        *columns,
        optimum,
    ]


def _optimum(epsilon: float, reports: int) -> float:
    too_little, enough = 0.0, epsilon * reports
    for _ in range(60):
        middle = (too_little + enough) / 2
        is_enough = closed_delta(epsilon, reports, middle) <= DELTA
        too_little, enough = (too_little, middle) if is_enough else (middle, enough)
    return enough


if __name__ == "__main__":
    sys.stdout.write(accounting_section(()))
