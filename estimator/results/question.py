"""The definition of a question, as a report repeats it."""

from __future__ import annotations

from typing import Annotated

from estimator.results.record import Record, says


class Question(Record, frozen=True, kw_only=True):
    """The parts of a metric's definition on which its estimates depend."""

    metric: Annotated[str, says("its name.")]
    edition: Annotated[str, says("12 hex digits that identify what its reports mean.")]
    kind: Annotated[str, says("``boolean``, ``category`` …")]
    mechanism: Annotated[str, says("its name.")]
    epsilon: Annotated[float, says("of one report, rounded up from the channel's integers.")]
    delta: Annotated[float, says("of one report, rounded up likewise.")]
    unit: Annotated[str, says("of its numbers, such as ms; empty where the registry names none.")] = ""
