"""The words that all renderers share."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from typing import Final

from client_sdk.protocol.kinds.kind import word
from estimator.results.changes import Changes
from estimator.results.extras import Cluster, Move, RangeTest
from estimator.results.group import FigureGroup, FigureKey
from estimator.results.metric import MetricEstimate, Question
from estimator.results.statistic import STATISTICS

DIGITS: Final = Context(prec=3, rounding=ROUND_CEILING)
"""Rounds up: a privacy loss is never shown smaller than it is."""

LEAST_P: Final = 0.001
"""Smaller p-values are shown as below this, because the normal approximation fails in the tails."""


def short_loss(loss: float) -> str:
    """Return an epsilon or a delta with three digits, rounded up from its shortest decimal form."""
    return f"{float(DIGITS.create_decimal(repr(float(loss)))):.3g}"


def mechanism_words(question: Question) -> str:
    """Return the mechanism of a question with its epsilon, and with its delta if there is one."""
    delta = f", delta {short_loss(question.delta)}" if question.delta else ""
    return f"{question.mechanism}, epsilon {question.epsilon:.9f}{delta}"


def cluster_words(cluster: Cluster) -> str:
    """Return the answers that a cluster holds."""
    if cluster.start is not None:
        return f"{cluster.start:.5g} to {cluster.end:.5g}"
    return "; ".join(map(word, cluster.values))


AMONG_ALL_NOTE: Final = (
    "Among all installations: bounds, whatever the devices that do not take part would answer. Other figures, such as "
    "quantiles, the variance, shares and means within groups, coefficients and strata, have no such bounds."
)


def untested_words(statistics: Sequence[str]) -> str:
    """Return which of the shown figures are not tested; empty if all are."""
    names = [*dict.fromkeys(STATISTICS[statistic].untested for statistic in statistics)]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def tested_words(changes: Changes) -> str:
    """Return which figures are tested."""
    return " or ".join("shares" if group.about.is_share else "the mean" for group in changes.groups)


MOVED: Final = {
    "coordinate": "coordinate mean",
    "coefficient": "any coefficient",
    "cell_share": "cell share",
    "product_mean": "product mean",
}
"""What made-up reports could have moved, where it is not a figure of the report."""


def shown_moves(estimated: MetricEstimate, positions: Sequence[int]) -> list[Move]:
    """Return how far made-up reports could have moved what is shown."""
    moves = () if estimated.fakes is None else estimated.fakes.moves
    hidden = {key for group in estimated.compared if group.about.by_value for key in group.keys}
    shown = {key for group in estimated.compared for key in _keys_at(group, positions)}
    return [move for move in moves if (key := FigureKey(move.statistic, move.value)) in shown or key not in hidden]


def _keys_at(group: FigureGroup, positions: Sequence[int]) -> set[FigureKey]:
    return {FigureKey(group.statistic, group.figures.labels[at]) for at in positions if at < len(group.figures)}


def move_label(estimated: MetricEstimate, move: Move) -> str | tuple[str, ...]:
    """Return the label of what made-up reports could have moved."""
    group = estimated.group(move.statistic)
    return MOVED[move.statistic] if group is None or move.statistic in MOVED else group.about.parts(move.value)


def p_words(p_value: float) -> str:
    """Return a p-value with two digits."""
    return f"below {LEAST_P}" if p_value < LEAST_P else f"{p_value:.2g}"


def p_equals(p_value: float) -> str:
    """Return a p-value as it follows the letter p: ``= 0.03`` or ``below 0.001``."""
    words = p_words(p_value)
    return words if words.startswith("below") else f"= {words}"


def made_up_test(test: RangeTest) -> str:
    """Return the result of the test in words."""
    if test.impossible:
        return f"HARDLY any population makes such a tally (p {p_equals(test.p_value)}): do not trust it"
    return f"no sign of made-up reports (p {p_equals(test.p_value)}); this cannot rule them out"


def brief_made_up_test(test: RangeTest) -> str:
    """Return the result of the test in a few words."""
    return "the tally looks MADE UP" if test.impossible else "none proved"
