"""The true answers of a rehearsal: how they are written, and their laws as inputs."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any, cast

from client_sdk.protocol.errors import DomainError
from client_sdk.protocol.metric import Metric
from estimator.analyses.metric import analysis_of

Input = int | tuple[int, ...]
"""An input of a channel: a symbol, or an encoded vector."""

Value = bool | str | int | float | Decimal | Fraction | tuple["Value", ...] | None
"""An answer. Equal answers have equal values: the members of a set are in the domain's order."""


@dataclass(frozen=True, slots=True)
class TrueAnswer:
    """One answer, and the inputs that a device's rounding or its drawing of a member makes of it.

    Attributes:
        value: the answer itself.
        law: each input that it may become, with its probability. Of a text, the integer of each
            text.

    """

    value: Value
    law: tuple[tuple[Input, float], ...]


def parts(value: Value) -> tuple[Value, ...]:
    """Return the members of a set, the answers of a pair, or the numbers of a vector."""
    return value if isinstance(value, tuple) else (value,)


def as_float(value: Value) -> float:
    """Return a number as a float, and NaN for any other answer."""
    return float(value) if isinstance(value, int | Decimal | Fraction) else math.nan


def read_answer(metric: Metric, cell: str | tuple[str, ...]) -> TrueAnswer:
    """Return the answer that a text states, or that several texts state together.

    Raises:
        ValueError: if the text states no answer. The message says what an answer may be and leaves
            out the text.

    """
    kind = metric.kind
    try:
        return encode(metric, kind.parse(cell) if isinstance(cell, str) else kind.parse_columns(cell))
    except DomainError:
        raise ValueError(f"must be {kind.expected_in_cell}") from None


def encode(metric: Metric, value: Any) -> TrueAnswer:  # noqa: ANN401 an answer of any kind
    """Return an answer with the law by which the metric's kind turns it into an input.

    Raises:
        DomainError: if it is no answer.

    """
    kind, inputs = metric.kind, metric.channel.inputs
    if value is None and metric.has_no_answer:
        return TrueAnswer(None, ((inputs - 1, 1.0),))
    law = analysis_of(metric).law(value)
    return TrueAnswer(cast("Value", kind.truth(value)), tuple((each, float(chance)) for each, chance in law.items()))


def distinct(answers: Iterable[tuple[TrueAnswer, int]]) -> dict[TrueAnswer, int]:
    """Return how often each answer was given. Two texts such as 1 and 1.0 state one answer."""
    counts: dict[TrueAnswer, int] = {}
    for answer, count in answers:
        counts[answer] = counts.get(answer, 0) + count
    return counts
