"""The reports per second of clients that make one report at a time, by library."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import median

from benchmarks.peers.environments import COINS, Peer
from benchmarks.peers.ours import chosen, kind_of, report_rate
from benchmarks.results import NONE, spread, table

ROUNDS = 5
SECONDS = 0.3
EPSILON = 1.0
OURS = "ours"
CHANNELS: dict[str, dict[int, tuple[str, ...]]] = {
    "pure-ldp": {2: ("GRR",), 32: ("GRR",), 1024: ("OLH", "FLH", "HR", "OUE")},
    "multi-freq-ldpy": {2: ("GRR",), 32: ("GRR",), 1024: ("OLH", "OUE", "SS")},
    "opendp": {2: ("GRR",), 32: ("GRR",), 1024: ("GRR", "bit vector")},
}
SIZES = (2, 32, 1024)

Rates = dict[tuple[int, str, str], list[float]]
"""Reports per second in each round, by number of values, library and channel."""


def client_section(peers: Sequence[Peer]) -> str:
    rates: Rates = {}
    for _ in range(ROUNDS):
        for size in SIZES:
            for name, channel, measured in _entries(peers, size):
                rates.setdefault((size, name, channel), []).append(measured())
    rows = [
        [str(size), name, channel, spread([rate / 1000 for rate in of_peer]), COINS.get(name, "system CSPRNG")]
        for (size, name, channel), of_peer in rates.items()
    ]
    return (
        "### Client\n\n"
        "A Python loop makes one report per call, at epsilon 1. Cells show the median (range) of the reports per\n"
        f"second in {ROUNDS} rounds of {SECONDS} s each, in which the libraries take turns. Hearsay starts from the\n"
        "answer, which is a text or a boolean; the peers start from an index. `GRR` is k-ary randomized response.\n"
        "The libraries draw different coins: a Mersenne Twister is fast, but hides nothing, because its numbers\n"
        "can be predicted from its output. The fair comparison is therefore that with opendp.\n\n"
        + table(("values", "library", "channel", "thousand/s", "coins"), rows)
        + "\n"
        + table(("values", "best with a CSPRNG", "ours / best", "best of all", "ours / best"), _ratios(rates))
    )


def _entries(peers: Sequence[Peer], size: int) -> list[tuple[str, str, Callable[[], float]]]:
    ours = chosen(size, EPSILON)
    entries: list[tuple[str, str, Callable[[], float]]] = [
        (OURS, ours.name, lambda: report_rate(kind_of(size), ours, SECONDS))
    ]
    for peer in peers:
        entries += [(peer.name, channel, _answer_of(peer, channel, size)) for channel in CHANNELS[peer.name][size]]
    return entries


def _answer_of(peer: Peer, channel: str, size: int) -> Callable[[], float]:
    return lambda: float(peer.ask("client", channel=channel, inputs=size, epsilon=EPSILON, seconds=SECONDS))


def _ratios(rates: Rates) -> list[list[str]]:
    rows = []
    for size in SIZES:
        medians = {(name, channel): median(rate) for (sized, name, channel), rate in rates.items() if sized == size}
        (ours,) = (rate for (name, _), rate in medians.items() if name == OURS)
        row = [str(size)]
        for among in (["opendp"], list(COINS)):
            others = {key: rate for key, rate in medians.items() if key[0] in among}
            best = max(others, key=others.__getitem__, default=None)
            row += ["none ran", NONE] if best is None else [" ".join(best), f"{ours / others[best]:.2f}"]
        rows.append(row)
    return rows
