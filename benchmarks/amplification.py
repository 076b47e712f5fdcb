"""What shuffling gains, beside the figures of the peers, and what the computation costs."""

from __future__ import annotations

import time

from benchmarks.results import spread, table, verdict
from estimator.privacy.amplification import shuffled_epsilon

DELTA = 1e-6
ROUNDS = 5
FIGURES = (
    (10**4, 1.0, 0.05300, "0.0528 to 0.0535"),
    (10**5, 4.0, 0.16977, "0.1675 to 0.1728"),
    (10**6, 1.0, 0.004335, "0.00435 to 0.00460"),
    (10**6, 4.0, 0.04931, "0.0494 to 0.0502"),
)
"""Reports, local epsilon, the exact figure of the pair of clones, and what a peer found in 0.4 to
43 s.
"""


def measure_amplification() -> str:
    """Return the section of the results."""
    rows, excess, slowest = [], 0.0, 0.0
    for reports, local, exact, peers in FIGURES:
        seconds = []
        for _ in range(ROUNDS):
            started = time.perf_counter()
            epsilon = shuffled_epsilon(reports, local, DELTA)
            seconds.append(time.perf_counter() - started)
        excess, slowest = max(excess, abs(epsilon / exact - 1)), max(slowest, *seconds)
        rows.append([f"{reports:,}", f"{local:g}", f"{epsilon:.4g}", f"{exact:.4g}", peers, spread(seconds, 3)])
    return (
        f"## Amplification\n\nCentral epsilon of a shuffled tally at delta {DELTA:g}; the peer's figures are quoted "
        "(lower to upper bound), not of this run.\n\n"
        + table(("reports", "local epsilon", "epsilon", "pair of clones, exact", "a peer's bounds", "seconds"), rows)
        + "\nFarthest from the exact figure: "
        + verdict(excess <= 0.01, f"{excess:.2%}", "≤ 1 %")
        + "\nSlowest, up to 10^6 reports: "
        + verdict(slowest <= 1, f"{slowest:.2f} s", "≤ 1 s")
    )
