"""Measures the memory and the time to estimate a category with many values, in its own process.

``python -m benchmarks.large VALUES`` prints JSON.
"""

from __future__ import annotations

import json
import resource
import sys
import time

import numpy as np

from benchmarks.peers.ours import chosen
from estimator.decoders.inversions import inverse_of

REPORTS = 10**8
KIB = 1024
"""The number of bytes in Linux's unit of peak memory."""


def main() -> None:
    """Estimate a tally twice.

    The first estimate includes the preparation of the inverse of the channel's matrix. The second
    estimate reuses this inverse, as in the next window of the metric.
    """
    values = int(sys.argv[1])
    started = time.perf_counter()
    channel = chosen(values, 1.0)
    definition_s = time.perf_counter() - started
    # if answers are uniform, so are the symbols, except for pseudo-random blocks
    symbols = channel.symbols
    tally = np.random.default_rng(values).multinomial(REPORTS, np.full(symbols, 1 / symbols))
    seconds = []
    for _ in range(2):
        started = time.perf_counter()
        inverse = inverse_of(channel)
        inverse.shares(tally, REPORTS)
        inverse.standard_errors(tally, REPORTS)
        inverse.intervals(tally, REPORTS)
        seconds.append(time.perf_counter() - started)
    peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * KIB
    measured = {"definition_s": definition_s, "first_s": seconds[0], "again_s": seconds[1], "peak_bytes": peak_bytes}
    sys.stdout.write(json.dumps(measured | {"mechanism": channel.name, "symbols": symbols}) + "\n")


if __name__ == "__main__":
    main()
