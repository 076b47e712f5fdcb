"""The words that all renderers share."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_CEILING, Context
from typing import Final

from client_sdk.protocol.kinds.kind import Label, word
from estimator.results.changes import Changes
from estimator.results.clusters import Cluster
from estimator.results.distribution import Range
from estimator.results.question import Question
from estimator.results.texts import EMPTY_TEXT
from estimator.words import plural

DIGITS: Final = Context(prec=3, rounding=ROUND_CEILING)
"""Rounds up: a privacy loss is never shown smaller than it is."""

LONGEST_LABEL = 80
"""How many characters of a value are shown. JSON and CSV have all of them."""

ANY_COEFFICIENT: Final = "any coefficient"
"""What made-up reports could have moved, of a model."""

LEAST_P: Final = 0.001
"""Smaller p-values are shown as below this, because the normal approximation fails in the tails."""


def short_loss(loss: float) -> str:
    """Return an epsilon or a delta with three digits, rounded up from its shortest decimal form."""
    return f"{float(DIGITS.create_decimal(repr(float(loss)))):.3g}"


def mechanism_words(question: Question) -> str:
    """Return the mechanism of a question with its epsilon, and with its delta if there is one."""
    delta = f", delta {short_loss(question.delta)}" if question.delta else ""
    return f"{question.mechanism}, epsilon {question.epsilon:.9f}{delta}"


def label_of(value: Label) -> str:
    """Return a value as people read it. Truth values become yes and no."""
    if isinstance(value, tuple):
        return ", ".join(label_of(part) for part in value)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return short(word(value))


def text_label(value: Label) -> str:
    """Return a text that nobody listed as people read it."""
    return label_of(value) or EMPTY_TEXT


def short(text: str, most: int = LONGEST_LABEL) -> str:
    """Return a text that is cut with an ellipsis where it is longer than ``most`` characters."""
    return text if len(text) <= most else text[: most - 1] + "…"


def cluster_words(cluster: Cluster) -> str:
    """Return the answers that a cluster holds."""
    if cluster.start is not None:
        return f"{cluster.start:.5g} … {cluster.end:.5g}"
    return "; ".join(map(word, cluster.values))


def at_least_words(days: Label) -> str:
    """Return the days on which devices were used at least."""
    return f"{days} {'day' if days == 1 else 'days'} or more"


def coordinate_words(value: Label) -> str:
    """Return the name of a coordinate of vectors, counted from 0, or of a model's coefficient."""
    return f"coordinate {value}" if isinstance(value, int) else word(value)


def left_out_words(number: int, kind: str) -> str:
    """Return how many values or coordinates of a kind of question are not shown."""
    return plural(number, "more coordinate" if kind == "vector" else "more value")


def range_words(share: Range) -> str:
    """Return the ends of a range, as they were asked for."""
    return f"from {share.start:.12g} to {share.end:.12g}"


AMONG_ALL_NOTE: Final = (
    "Among all installations: bounds, whatever the devices that do not take part would answer. Other figures, such as "
    "quantiles, the variance, shares and means within groups, coefficients and strata, have no such bounds."
)

UNTESTED: Final = {
    "coordinate": "coordinates",
    **dict.fromkeys(("coefficient", "log_odds"), "coefficients"),
    **dict.fromkeys(("found_text", "named_text"), "texts"),
    **dict.fromkeys(("variance", "quantile", "at_most", "bin", "range"), "the distribution"),
    "share_at_least": "shares from a number of days on",
    "share_of_answered": "shares of those who answered",
    "mean_within": "means within groups",
    **dict.fromkeys(("share_within", "auc", "share_from"), "shares within groups"),
}
"""The figures that people see and of which no change is tested, by their statistics."""


def untested_words(statistics: Sequence[str]) -> str:
    """Return which of the shown figures are not tested; empty if all are."""
    names = [*dict.fromkeys(UNTESTED[each] for each in statistics if each in UNTESTED)]
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def tested_words(changes: Changes) -> str:
    """Return which figures are tested."""
    shares, mean = bool(changes.estimates), changes.mean is not None
    return "shares or the mean" if shares and mean else "shares" if shares else "the mean"


def p_words(p_value: float) -> str:
    """Return a p-value with two digits."""
    return f"below {LEAST_P}" if p_value < LEAST_P else f"{p_value:.2g}"


def p_equals(p_value: float) -> str:
    """Return a p-value as it follows the letter p: ``= 0.03`` or ``below 0.001``."""
    words = p_words(p_value)
    return words if words.startswith("below") else f"= {words}"
