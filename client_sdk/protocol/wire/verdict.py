"""The collector's verdict on an upload: which reports it counted, and why it refused the others.

Devices read it after an upload has left. It decides when a report is sent again, and never what a
report says.
"""

from __future__ import annotations

import json
from enum import StrEnum
from typing import Any, NamedTuple

from client_sdk.protocol.wire.malformed import Malformed, malformed
from client_sdk.protocol.wire.strict_json import check_fields, load

CLOCK_SKEW_S = 600
"""Seconds that a device's clock may be ahead of the collector's before its window counts as
future."""


class Refusal(StrEnum):
    """A report that is well formed but cannot be counted. The value is the code on the wire."""

    UNKNOWN_METRIC = "unknown_metric"
    UNKNOWN_EDITION = "unknown_edition"
    FORMER_EDITION = "former_edition"
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


_RETRYABLE = frozenset({Refusal.UNKNOWN_METRIC, Refusal.UNKNOWN_EDITION, Refusal.FORMER_EDITION})

_SENTENCES = {
    Refusal.UNKNOWN_METRIC: "The collector's registry has no such metric: deploy the registry of the app first.",
    Refusal.UNKNOWN_EDITION: "The collector's registry has another edition: deploy the newer one, with its history.",
    Refusal.FORMER_EDITION: "The collector's registry is newer than the app's: put that of the app into its history.",
    Refusal.WRONG_WINDOW: "The window is not of the kind that the metric's definition names.",
    Refusal.WINDOW_IN_FUTURE: "The window has not begun yet by the collector's clock: check the device's clock.",
    Refusal.WINDOW_CLOSED: "The window is closed: a closed window never changes.",
    Refusal.METRIC_EXPIRED: "The window begins after the metric's expiry date: the question is no longer asked.",
    Refusal.SYMBOL_OUT_OF_RANGE: "The symbol is not of the metric's alphabet.",
}


class Verdict(NamedTuple):
    """What became of an upload.

    Attributes:
        reports: how many reports the upload had.
        refused: index and reason of each report that was not counted, by rising index.

    """

    reports: int
    refused: tuple[tuple[int, Refusal], ...] = ()

    @property
    def accepted(self) -> int:
        """How many reports were counted."""
        return self.reports - len(self.refused)

    def encode(self) -> bytes:
        """Return the body of the response."""
        if not self.refused:
            return b'{"accepted":%d,"refused":[]}' % self.reports
        refused = [{"index": index, "code": code.value} for index, code in self.refused]
        return json.dumps({"accepted": self.accepted, "refused": refused}, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, body: bytes, reports: int) -> Verdict:
        """Read the response to an upload of ``reports`` reports.

        Raises:
            MalformedError: if the body is not exactly a verdict on that many reports; another
                program may have answered.

        """
        document = load(body)
        check_fields(document, frozenset({"accepted", "refused"}), "body")
        if type(document["refused"]) is not list:
            malformed(Malformed.INVALID_VERDICT, "refused", "must be a list")
        refused = tuple(_refusal(raw, reports) for raw in document["refused"])
        indexes = [index for index, _ in refused]
        accepted = document["accepted"]
        if indexes != sorted(set(indexes)) or type(accepted) is not int or accepted != reports - len(refused):
            malformed(Malformed.INVALID_VERDICT, "body", "must account for every report once")
        return cls(reports, refused)


def _refusal(raw: Any, reports: int) -> tuple[int, Refusal]:  # noqa: ANN401 what JSON holds
    check_fields(raw, frozenset({"index", "code"}), "refused")
    index, code = raw["index"], raw["code"]
    if type(index) is not int or not 0 <= index < reports:
        malformed(Malformed.INVALID_VERDICT, "refused", "must hold indexes of the upload's reports")
    if not isinstance(code, str) or code not in tuple(Refusal):
        malformed(Malformed.INVALID_VERDICT, "refused", "must hold known refusal codes")
    return index, Refusal(code)
