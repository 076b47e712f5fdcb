"""The texts that the library pure-ldp 1.2.0 finds, if the same devices report the same strings."""

from __future__ import annotations

import sys
import tempfile
from statistics import fmean
from typing import Any, Final

import numpy as np

from benchmarks.peers.environments import Peer, PeerError, installed, running
from benchmarks.results import table
from benchmarks.text.corpus import CorpusError
from benchmarks.text.populations import Population, beginnings
from benchmarks.text.scores import TOP, f1_and_ncr, measured
from benchmarks.text.surveys import Survey

LENGTH: Final = 6
"""The number of letters in a string.

The library's protocols need this limit. SFP tries every possible fragment of a string, and PEM
tries every possible prefix.
"""

EPSILONS: Final = (2, 4)
DEVICES: Final = 657_000
OUR_RUNS: Final = 10
METHODS: Final = ("PEM", "SFP")

HEADING: Final = (
    "epsilon",
    "devices",
    "protocol",
    "F1",
    "NCR",
    "proved",
    "µs per device",
    "µs per report",
    "s per search",
)

INTRODUCTION: Final = (
    "\n### Beside pure-ldp\n\n"
    f"The texts are the first {LENGTH} letters of the same words. Each protocol of pure-ldp ran once, with the\n"
    f"library's code and CMS as its frequency oracle; ours ran {OUR_RUNS} times, and the table shows the mean. The\n"
    f"library lists {TOP} strings, none of them proved. It calls `np.zeros(None)`, which current versions of numpy\n"
    "refuse; here, the call returned a scalar, as in older versions.\n\n"
)


def peers_section() -> str:
    try:
        population = beginnings(LENGTH)
        with tempfile.TemporaryFile("w+") as errors, running("pure-ldp", installed("pure-ldp"), errors) as peer:
            rows = [row for epsilon in EPSILONS for row in _rows(peer, population, epsilon)]
    except (CorpusError, PeerError) as error:
        return f"{INTRODUCTION}Not measured: {error}\n"
    return INTRODUCTION + table(HEADING, rows)


def _rows(peer: Peer, population: Population, epsilon: float) -> list[list[str]]:
    drawn = population.drawn(DEVICES, np.random.default_rng(1)).tolist()
    counts = dict(zip(population.strings, drawn, strict=True))
    survey = Survey.asked(population, epsilon)
    ours = [measured(survey, DEVICES, seed) for seed in range(OUR_RUNS)]
    first = [f"{epsilon:g}", f"{DEVICES:,}"]
    rows = [
        [
            *first,
            "**ours**",
            f"{fmean(score.f1 for score in ours):.2f}",
            f"{fmean(score.ncr for score in ours):.2f}",
            f"{fmean(score.proved for score in ours):.1f}",
            "",
            "",
            "",
        ]
    ]
    for method in METHODS:
        sys.stderr.write(f"  {method}, epsilon {epsilon}, {DEVICES:,} devices …\n")
        answer: dict[str, Any] = peer.ask(
            "strings",
            method=method,
            epsilon=float(epsilon),
            counts=counts,
            length=LENGTH,
            top=TOP,
        )
        f1, ncr = f1_and_ncr(answer["found"], population)
        micro = [f"{1e6 * answer[part]:.0f}" for part in ("client", "server")]
        rows.append([*first, method, f"{f1:.2f}", f"{ncr:.2f}", "0", *micro, f"{answer['search']:.1f}"])
    return rows
