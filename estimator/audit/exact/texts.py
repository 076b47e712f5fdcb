"""Walks a channel of texts: every path with a toy alphabet, and the same code at its own size.

A report of a text takes some 10**9 paths. Privacy needs two things only: that the group is drawn by
its weight, whatever the text, and that the cell goes through the geometry. So with three letters of
two, and a geometry of 13 points at the same epsilon, all paths of all texts are walked, by the code
of the device. At the channel's own size scripted coins must lead to the group that they name, and
there to the symbol of the geometry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, Final, cast

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.requested_epsilon import RequestedEpsilon
from client_sdk.protocol.texts.grouped_geometry import GroupedGeometry
from client_sdk.protocol.texts.text import Text
from estimator.audit.exact.answers import EncodedAnswer
from estimator.audit.exact.compare import Walk
from estimator.audit.exact.proof import Proof
from estimator.audit.exact.request import RequestedLoss
from estimator.audit.exact.vectors import Script

LETTERS: Final = "ab"

LENGTH: Final = 3

PRIME: Final = 3

DIMENSION: Final = 3

TEXTS: Final = tuple("".join(letters) for size in range(LENGTH + 1) for letters in product(LETTERS, repeat=size))
"""All texts of the toy."""


def text_proof(metric: Metric, request: RequestedLoss | None, after_law: Callable[[int], object]) -> Proof:
    """Return what is proved of a report of texts.

    Raises:
        AuditError: if the SDK cannot be walked.

    """
    channel, domain = cast("GroupedGeometry", metric.channel), cast("Text", metric.kind)
    toy = toy_of(domain)
    cells = (PRIME**DIMENSION - 1) // (PRIME - 1)
    within = RequestedEpsilon(odds=channel.worst_ratio, text="that of the channel")
    weights = tuple(group.weight for group in toy.groups(cells))
    small = type(channel).within(within, PRIME, DIMENSION, weights)
    toy_metric = replace(metric, kind=toy, channel=small)
    walk = Walk(f"one report, as of {LENGTH} letters", small, after_law)
    for text in TEXTS:
        encoded: Any = toy.cells_of(toy.number_of(text), cells)  # elsewhere an input is a number
        walk.reported(partial(toy_metric.perturb, text), EncodedAnswer(text, {encoded: Fraction(1)}))
    proof = walk.proof(metric.name, metric.epsilon_nanos, request)
    return replace(
        proof, inputs=len(TEXTS), mismatches=(*proof.mismatches, *dict.fromkeys(_at_full_size(channel, domain)))
    )


def toy_of(domain: Text) -> Text:
    """Return a domain of few texts, whose code is that of another one."""
    return type(domain)(LETTERS, LENGTH, discover=domain.discover)


def _at_full_size(channel: GroupedGeometry, domain: Text) -> Iterator[str]:
    """Yield a sentence for everything that is not as declared at the channel's own size."""
    if channel.worst_ratio != channel.geometry.worst_ratio:
        yield "the ratio is not that of the geometry"
    total, below = sum(channel.weights), 0
    for text in ("", domain.letters[0], domain.letters[-1] * domain.max_length):
        cells, below = domain.cells_of(domain.number_of(text), channel.inputs), 0
        for group, weight in enumerate(channel.weights):
            for drawn in (below, below + weight - 1):
                for keep in (True, False):
                    coins = Script(drawn, keep, 1, 1)
                    inner = channel.geometry.perturb(cells[group], Script(keep, 1, 1))
                    if channel.perturb(cells, coins) != group * channel.inputs + inner or coins.bounds[0] != total:
                        yield "coins do not lead to the group that they name"
            below += weight
