"""Words that every rendering shares."""

from __future__ import annotations

from decimal import ROUND_CEILING, Context
from typing import Final

from client_sdk.protocol import Metric
from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.exact import float_ceiling
from estimator.results.clusters import Cluster
from estimator.text import word

DIGITS: Final = Context(prec=3, rounding=ROUND_CEILING)
"""A privacy loss is not shown smaller than it is."""

LEAST_P: Final = 0.001
"""Of smaller p-values only that is said: the normal approximation is not right in the tails."""


def short_loss(loss: float) -> str:
    """Return an epsilon or a delta with three digits, rounded up."""
    return f"{float(DIGITS.create_decimal_from_float(loss)):.3g}"


def mechanism_words(metric: Metric) -> str:
    """Return the mechanism of a metric with its exact epsilon, and its delta if it has one."""
    delta = f", delta {short_loss(float_ceiling(metric.delta))}" if metric.delta else ""
    return f"{metric.channel.name}, epsilon {as_float(metric.epsilon_nanos):.9f}{delta}"


def cluster_words(cluster: Cluster) -> str:
    """Return which answers a cluster holds."""
    if cluster.span is not None:
        low, high = cluster.span
        return f"{low:.5g} … {high:.5g}"
    return "; ".join(map(word, cluster.values))


def p_words(p_value: float) -> str:
    """Return a p-value."""
    return f"below {LEAST_P}" if p_value < LEAST_P else f"{p_value:.2g}"


def p_equals(p_value: float) -> str:
    """Return a p-value as it stands behind a p."""
    words = p_words(p_value)
    return words if words.startswith("below") else f"= {words}"
