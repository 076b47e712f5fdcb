"""The definition of a metric, as a report repeats it."""

from __future__ import annotations

from typing import TypedDict

from client_sdk.protocol.epsilon import as_float
from client_sdk.protocol.exact import float_ceiling
from client_sdk.protocol.metric import Metric


class QuestionFields(TypedDict):
    """The fields of a `Question`."""

    metric: str
    edition: str
    kind: str
    mechanism: str
    epsilon: float
    delta: float
    unit: str


def question_fields(metric: Metric) -> QuestionFields:
    """Return the fields of a `Question` about a metric."""
    return QuestionFields(
        metric=metric.name,
        edition=metric.edition,
        kind=metric.kind.name,
        mechanism=metric.channel.name,
        epsilon=as_float(metric.epsilon_nanos),
        delta=float_ceiling(metric.delta),
        unit=metric.unit,
    )
