"""The mean squared error of shares, by library, for the same answers of the same devices.

Two kinds of shares are compared: unbiased shares, and shares after post-processing. Post-processed
shares are at least 0 and add up to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from fractions import Fraction
from statistics import fmean, stdev

import numpy as np

from benchmarks.peers.environments import Peer
from benchmarks.peers.ours import DEVICES, chosen, post_processed, zipf
from benchmarks.results import NONE, table
from estimator.decoders.inversions import inverse_of, sampler_of
from estimator.decoders.support import Support
from estimator.likelihood.shares import maximum_likelihood
from estimator.statistics.arrays import Floats, nearest_shares
from tests.exact.test_design_variance import bound

SIZES = (32, 1024)
EPSILONS = (0.5, 1.0, 2.0, 4.0)
OUR_RUNS = 100
PEERS_RUNS = 40
SECONDS = 10.0
"""After this number of seconds and at least five runs, no further run of another library's channel
begins.
"""

RAW = "raw"
CHANNELS = {
    "pure-ldp": {32: ("GRR", "OUE", "HR"), 1024: ("OUE", "HR")},
    "multi-freq-ldpy": {32: ("GRR", "OUE", "SS"), 1024: ("OUE", "SS")},
}

INTRODUCTION = (
    "### Accuracy of shares\n\n"
    f"The answers of {DEVICES:,} devices follow Zipf(1.1), and are the same for all libraries. Each error is the\n"
    "mean squared error of the shares ± its standard error over runs, whose number is in parentheses. Every report\n"
    f"of a peer is drawn by the peer itself; a channel of a peer gets {PEERS_RUNS} runs, or as many as begin within\n"
    f"{SECONDS:.0f} s, but at least 5. Our tallies are drawn from their distribution. Both pure-ldp and\n"
    "multi-freq-ldpy have GRR (k-ary randomized response) and OUE. Their runs are put together, because the\n"
    "distributions are the same. HR is from pure-ldp, and SS from multi-freq-ldpy. The best peer is the one with\n"
    "the smallest mean in this run, which flatters it slightly. Some channels were not run: OLH, which has the\n"
    "distribution of OUE and takes minutes; FLH, its approximation; GRR at 1024 values; and opendp's channels,\n"
    "which are GRR and a unary code with more variance than OUE. *Theory* is the variance of subset selection in a\n"
    "uniform population.\n\n"
    "Errors of unbiased shares:\n\n"
)
POST_PROCESSED = (
    "\nErrors after post-processing. Ours are the shrunken shares. For peers, these methods were tried: additive,\n"
    "simplex and threshold of pure-ldp; clipped and IBU of multi-freq-ldpy (IBU with its default settings and in\n"
    "fewer runs); our own simplex on the estimates of multi-freq-ldpy; and our own likelihood on the support\n"
    "counts of both libraries, which gives the result that IBU would reach without its limit of 10,000 rounds.\n\n"
)

Cell = tuple[int, float]
"""The number of values, and the epsilon."""


@dataclass(frozen=True, slots=True)
class Errors:
    """The mean squared errors of several runs."""

    runs: tuple[float, ...]

    @classmethod
    def from_estimates(cls, estimates: Iterable[Floats | list[float]], truth: Floats) -> Errors:
        return cls(tuple(float(((np.asarray(estimate) - truth) ** 2).mean()) for estimate in estimates))

    def joined(self, others: Errors | None) -> Errors:
        return Errors(self.runs + others.runs) if others else self

    @property
    def mean(self) -> float:
        return fmean(self.runs)

    @property
    def deviation(self) -> float:
        """The standard error of the mean, relative to the mean."""
        return stdev(self.runs) / math.sqrt(len(self.runs)) / self.mean

    def __str__(self) -> str:
        return f"{self.mean:.2e} ± {self.deviation:.0%} ({len(self.runs)})"


ErrorTable = dict[Cell, dict[str, Errors]]
"""The errors by cell, and then by a name such as ``OUE, simplex``."""


def accuracy_section(peers: Sequence[Peer]) -> str:
    """Return the part on accuracy. All libraries run at once, because no time is measured."""
    cells: list[Cell] = [(size, epsilon) for size in SIZES for epsilon in EPSILONS]
    able = [peer for peer in peers if peer.name in CHANNELS]
    raw: ErrorTable = {cell: {} for cell in cells}
    post: ErrorTable = {cell: {} for cell in cells}
    with ThreadPoolExecutor(max_workers=max(1, len(able))) as pool:
        pending = [pool.submit(_answer_of, peer, cells) for peer in able]
        ours = {cell: _ours(*cell) for cell in cells}
        for answer in pending:
            for cell, entries in answer.result().items():
                for name, errors in entries.items():
                    group = raw if name.endswith(f", {RAW}") else post
                    group[cell][name] = errors.joined(group[cell].get(name))
    raw_ours = {cell: both[0] for cell, both in ours.items()}
    post_ours = {cell: both[1] for cell, both in ours.items()}
    return (
        INTRODUCTION
        + _beside(cells, raw_ours, raw)
        + POST_PROCESSED
        + _beside(cells, post_ours, post)
        + "\nMean squared errors of all peers and of Hearsay:\n\n"
        + _everything(cells, raw, post, _of_ours(ours))
    )


def _ours(size: int, epsilon: float) -> tuple[Errors, ...]:
    """Return the errors of this project's shares.

    The shares are unbiased, shrunken, projected onto the simplex, or of maximum likelihood.
    """
    channel, counts = chosen(size, epsilon), zipf(size)
    inverse, sampler, generator = inverse_of(channel), sampler_of(channel), np.random.default_rng(11)
    tallies = [sampler(counts, generator) for _ in range(OUR_RUNS)]
    truth = counts / DEVICES
    raw = [inverse.shares(tally, DEVICES) for tally in tallies]
    return (
        Errors.from_estimates(raw, truth),
        Errors.from_estimates((post_processed(inverse, tally) for tally in tallies), truth),
        Errors.from_estimates((nearest_shares(estimate) for estimate in raw), truth),
        Errors.from_estimates((maximum_likelihood(inverse, tally) for tally in tallies), truth),
    )


def _of_ours(ours: Mapping[Cell, tuple[Errors, ...]]) -> ErrorTable:
    names = (f"**ours**, {RAW}", "**ours**, shrunken", "**ours**, simplex", "**ours**, likelihood")
    return {cell: dict(zip(names, errors, strict=True)) for cell, errors in ours.items()}


def _answer_of(peer: Peer, cells: Sequence[Cell]) -> ErrorTable:
    table: ErrorTable = {cell: {} for cell in cells}
    for size, epsilon in cells:
        counts = zipf(size)
        truth = counts / DEVICES
        for channel in CHANNELS[peer.name][size]:
            answer = peer.ask(
                "accuracy", channel=channel, epsilon=epsilon, counts=counts.tolist(), runs=PEERS_RUNS, seconds=SECONDS
            )
            estimates = {RAW: answer["raw"], **_improved(answer["raw"], answer["law"]), **answer["posts"]}
            for name, runs in estimates.items():
                table[size, epsilon][f"{channel}, {name}"] = Errors.from_estimates(runs, truth)
    return table


def _improved(raw: list[list[float]], law: tuple[float, float] | None) -> dict[str, list[Floats]]:
    """Return another library's unbiased estimates after this project's post-processing."""
    estimates = [np.array(estimate) for estimate in raw]
    improved = {"simplex": [nearest_shares(estimate) for estimate in estimates]}
    if law:
        own, other = law
        support = Support(Fraction(own), Fraction(other))
        counts = [np.rint(DEVICES * (other + (own - other) * estimate)).astype(np.int64) for estimate in estimates]
        improved["likelihood"] = [maximum_likelihood(support, estimate) for estimate in counts]
    return improved


def _beside(cells: Sequence[Cell], ours: dict[Cell, Errors], others: ErrorTable) -> str:
    rows = []
    for cell in cells:
        theory = bound(cell[0], str(cell[1])) / DEVICES
        row = [str(cell[0]), f"{cell[1]:g}", f"{theory:.2e}", str(ours[cell])]
        if others[cell]:
            name, best = min(others[cell].items(), key=lambda entry: entry[1].mean)
            ratio = ours[cell].mean / best.mean
            error = ratio * math.hypot(ours[cell].deviation, best.deviation)
            row += [f"{name}: {best}", f"{ratio:.2f} ± {error:.2f}", judged(ratio, error)]
        else:
            row += ["none ran", NONE, NONE]
        rows.append(row)
    return table(("values", "epsilon", "theory, unbiased", "ours", "best peer", "ratio", "at most the peer's?"), rows)


def judged(ratio: float, error: float) -> str:
    """Return a verdict on the ratio of this project's error to another library's error.

    The verdict states whether the ratio is at most 1, within the uncertainty of the runs.
    """
    if ratio <= 1:
        return "yes"
    return "within two standard errors" if ratio - 2 * error <= 1 else "**missed**"


def _everything(cells: Sequence[Cell], *tables: ErrorTable) -> str:
    names = dict.fromkeys(name for errors in tables for cell in cells for name in errors[cell])
    rows = [
        [name, *(str(errors[cell].get(name, NONE)).partition(" ±")[0] for cell in cells)]
        for errors in tables
        for name in names
        if any(name in errors[cell] for cell in cells)
    ]
    return table(("channel, post-processing", *(f"{size}, {epsilon:g}" for size, epsilon in cells)), rows)
