"""Why a report is refused: a closed enumeration of stable codes with sentences for people."""

from __future__ import annotations

from enum import StrEnum


class Refusal(StrEnum):
    """A report that is well formed but cannot be counted. The value is the code on the wire."""

    UNKNOWN_METRIC = "unknown_metric"
    UNKNOWN_EDITION = "unknown_edition"
    WRONG_WINDOW = "wrong_window"
    WINDOW_IN_FUTURE = "window_in_future"
    WINDOW_CLOSED = "window_closed"
    METRIC_EXPIRED = "metric_expired"
    SYMBOL_OUT_OF_RANGE = "symbol_out_of_range"

    @property
    def sentence(self) -> str:
        """What happened and what to do, in one sentence."""
        return _SENTENCES[self]

    @property
    def retryable(self) -> bool:
        """Whether the collector may accept the report later, once it has the app's registry."""
        return self in _RETRYABLE


_RETRYABLE = frozenset({Refusal.UNKNOWN_METRIC, Refusal.UNKNOWN_EDITION})

_SENTENCES = {
    Refusal.UNKNOWN_METRIC: "The collector's registry has no such metric (yet): deploy the collector's registry first.",
    Refusal.UNKNOWN_EDITION: "The collector's registry has another edition of the metric: deploy its registry first.",
    Refusal.WRONG_WINDOW: "The window is not of the kind that the metric's definition names.",
    Refusal.WINDOW_IN_FUTURE: "The window has not begun yet by the collector's clock: check the device's clock.",
    Refusal.WINDOW_CLOSED: "The window is closed: a closed window never changes.",
    Refusal.METRIC_EXPIRED: "The window begins after the metric's expiry date: the question is no longer asked.",
    Refusal.SYMBOL_OUT_OF_RANGE: "The symbol is not of the metric's alphabet.",
}
