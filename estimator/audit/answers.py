"""The answers that an audit tells apart: the ends of a domain, and a few between them."""

from __future__ import annotations

from typing import cast

import numpy as np

from client_sdk.protocol.kinds.encoding import Labels
from client_sdk.protocol.kinds.kind import NamedAnswer, word
from client_sdk.protocol.metric import Metric

BETWEEN = 2
"""How many answers between the first and the last are played: four answers make six pairs."""

SEED = 1
"""Chooses the same answers in every audit. With another choice each time, two audits could not be
compared.
"""


def extremes(metric: Metric) -> tuple[NamedAnswer, ...]:
    """Return the answers that are told apart: the ends of what may be answered, then any others."""
    named = metric.kind.extremes(midpoint=metric.channel.permanent_nanos > 0)  # its rounding is drawn once
    if named:
        return tuple(named)
    labels = metric.labels
    answers = labels if metric.has_no_answer else cast("Labels", metric.kind).answers  # others name their extremes
    inner = np.random.default_rng(SEED).permutation(np.arange(1, len(labels) - 1))[:BETWEEN]
    chosen = dict.fromkeys((0, len(labels) - 1, *sorted(inner.tolist())))
    return tuple(NamedAnswer(answers[at], word(labels[at])) for at in chosen)
