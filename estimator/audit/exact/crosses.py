"""Walks crosses, from the observation to the report: every path of some observations or of all.

A symbol speaks of one feature, which a coin draws. Its probability depends on that feature's cell
and on the label alone. So the worst pair of observations of a symbol is among those in which each
cell of its feature stands with each label. Where there are more observations than can be walked,
those stand for all: one in which all features are in their first cell, their second one, and so on,
and one in which every other feature counts from its last cell.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, cast

from client_sdk.protocol.metric import Metric
from client_sdk.protocol.models.model import LABEL, CrossedModel
from estimator.audit.exact.answers import MOST_PATHS, EncodedAnswer
from estimator.audit.exact.compare import Walk
from estimator.audit.exact.proof import Proof
from estimator.audit.exact.request import RequestedLoss


def walked_cells(metric: Metric, *, all_inputs: bool) -> list[tuple[int, ...]]:
    """Return the features' cells that are walked, each with both labels."""
    counts = [feature.cells for feature in cast("CrossedModel", metric.kind).observation.features]
    cells: Iterable[tuple[int, ...]] = product(*map(range, counts))
    if not all_inputs and 2 * math.prod(counts) * metric.channel.symbols > MOST_PATHS:
        cells = ((*_diagonal(counts, cell, turned=turned),) for turned in (False, True) for cell in range(max(counts)))
    return list(dict.fromkeys(cells))


def crosses_proof(
    metric: Metric, request: RequestedLoss | None, after_law: Callable[[int], object], *, all_inputs: bool
) -> Proof:
    """Return what is proved of a report of crosses.

    Raises:
        AuditError: if the SDK cannot be walked.

    """
    observation = cast("CrossedModel", metric.kind).observation
    walk = Walk("one report", metric.channel, after_law)
    for cells, label in product(walked_cells(metric, all_inputs=all_inputs), (False, True)):
        values = zip(observation.features, cells, strict=True)
        answer = {feature.name: feature.answer_in(cell) for feature, cell in values} | {LABEL: label}
        given: Any = tuple(2 * cell + label for cell in cells)  # elsewhere an input is a number
        walk.reported(partial(metric.perturb, answer), EncodedAnswer(given, {given: Fraction(1)}))
    inputs = 2 * math.prod(feature.cells for feature in observation.features)
    return replace(walk.proof(metric.name, metric.epsilon_nanos, request), inputs=inputs)


def _diagonal(counts: list[int], cell: int, *, turned: bool) -> Iterable[int]:
    """Yield a cell of each feature; one with fewer cells stays at its last one."""
    for place, count in enumerate(counts):
        nearest = min(cell, count - 1)
        yield count - 1 - nearest if turned and place % 2 else nearest
