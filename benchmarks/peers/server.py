"""The time from a million reports to all estimates."""

from __future__ import annotations

import time
from collections.abc import Sequence
from statistics import median

import numpy as np

from benchmarks.peers.environments import Peer
from benchmarks.peers.ours import chosen, zipf
from benchmarks.results import NONE, spread, table, verdict
from client_sdk.protocol import Channel
from estimator.decoders.inversions import inverse_of, sampler_of
from estimator.statistics.arrays import Counts

ROUNDS = 3
REPORTS = 10**6
EPSILON = 1.0
QUOTED_S = {32: 0.023, 1024: 0.026}
"""The times of the authors' C++ program, by number of values: randomized response with 32 values,
and projective geometry with 1,024. These times are quoted, not measured.
"""

CHANNELS: dict[str, dict[int, tuple[tuple[str, int, int], ...]]] = {
    "pure-ldp": {
        32: (("GRR", REPORTS, 10**5),),
        1024: (("HR", REPORTS, 10**5), ("FLH", REPORTS, 10**5), ("OUE", REPORTS, 5000), ("OLH", 10**4, 10**4)),
    },
    "multi-freq-ldpy": {
        32: (("GRR", REPORTS, 10**5),),
        1024: (("OUE", REPORTS, 5000), ("SS", 10**4, 10**4), ("OLH", 10**4, 10**4)),
    },
    "opendp": {32: (), 1024: (("bit vector", 10**4, 2000),)},
}
"""The measurements, by peer and by number of values.

Each entry is a channel, the number of reports, and the number of different reports. The different
reports are repeated up to the number of reports.
"""


def server_section(peers: Sequence[Peer]) -> str:
    rows, verdicts = [], []
    for size, quoted_s in QUOTED_S.items():
        channel = chosen(size, EPSILON)
        symbols = reported(channel, zipf(size, REPORTS))
        ours: list[float] = []
        others: Others = {}
        for number in range(ROUNDS):
            ours.append(ours_s(channel, symbols))
            others = {**others, **_answer_of(peers, size, others, first=number == 0)}
        rows.append([str(size), "ours", f"{channel.name}, with errors and intervals", spread(ours, 4), "all"])
        rows += [[str(size), *key, _shown(times_s), measured] for key, (times_s, measured) in others.items()]
        best_s = min((median(times_s) for times_s, _ in others.values()), default=None)
        ratio = f"{median(ours) / best_s:.3f}" if best_s else "none ran"
        verdicts.append(
            f"\n{size} values: our time is **{ratio}** times that of the fastest peer that ran. Compared with the "
            "quoted C++: " + verdict(median(ours) <= quoted_s, f"{median(ours):.4f} s", f"≤ {quoted_s} s")
        )
        rows.append(
            [
                str(size),
                "authors' C++ (quoted, not run here)",
                "projective geometry" if size > 32 else "randomized response",
                f"{quoted_s}",
                NONE,
            ]
        )
    return (
        "### Server\n\n"
        "The time runs from an array (ours) or a list (peers) of 10^6 reports at epsilon 1 to the estimates of all\n"
        f"values. Cells show the median (range) of {ROUNDS} rounds, in which the libraries take turns. The reports\n"
        "of peers repeat a smaller set of reports. If fewer than 10^6 reports were measured, they were measured\n"
        "once, and the time is scaled up in proportion.\n\n"
        + table(("values", "library", "channel", "seconds", "measured"), rows)
        + "".join(verdicts)
    )


def _shown(seconds: Sequence[float]) -> str:
    return spread(seconds, 3) if len(seconds) > 1 else f"{seconds[0]:,.0f}"


def reported(channel: Channel, inputs: Counts) -> Counts:
    """Draw the symbols that devices with these values report, and return them in random order."""
    generator = np.random.default_rng(3)
    tally = sampler_of(channel)(inputs, generator)
    symbols = np.repeat(np.arange(channel.symbols, dtype=np.int64), tally)
    generator.shuffle(symbols)
    return symbols


def ours_s(channel: Channel, symbols: Counts) -> float:
    """Measure the seconds from symbols to shares, errors and intervals.

    The seconds include the time to compute the inverse of the channel's matrix.
    """
    inverse_of.cache_clear()
    started = time.perf_counter()
    tally = np.bincount(symbols, minlength=channel.symbols)
    inverse = inverse_of(channel)
    inverse.shares(tally, symbols.size)
    inverse.standard_errors(tally, symbols.size)
    inverse.intervals(tally, symbols.size)
    return time.perf_counter() - started


Others = dict[tuple[str, str], tuple[list[float], str]]
"""By peer and channel: the seconds, and a description of the measurement."""


def _answer_of(peers: Sequence[Peer], size: int, before: Others, *, first: bool) -> Others:
    others: Others = {}
    for peer in peers:
        for channel, reports, drawn in CHANNELS[peer.name][size]:
            if not first and reports < REPORTS:
                continue  # it is so slow that one measurement is enough
            answer = peer.ask("server", channel=channel, inputs=size, epsilon=EPSILON, reports=reports, drawn=drawn)
            start = f"; {answer['start']:.1f} s of preparation not counted" if answer["start"] > 0.1 else ""
            measured = "all" if reports == REPORTS else f"{reports:,}, scaled"
            earlier = before.get((peer.name, channel), ([], ""))[0]
            others[peer.name, channel] = [*earlier, answer["seconds"] * REPORTS / reports], measured + start
    return others
