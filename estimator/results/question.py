"""The definition of a question, as a report repeats it."""

from __future__ import annotations

from estimator.results.record import Record


class Question(Record, frozen=True, kw_only=True):
    """The parts of a metric's definition on which its estimates depend.

    Attributes:
        metric: its name.
        edition: 12 hex digits that identify what its reports mean.
        kind: ``boolean``, ``category`` …
        mechanism: its name.
        epsilon: of one report, rounded up from the channel's integers.
        delta: of one report, rounded up likewise.
        unit: of its numbers, such as ms; empty where the registry names none.

    """

    metric: str
    edition: str
    kind: str
    mechanism: str
    epsilon: float
    delta: float
    unit: str = ""
