"""The collector's verdict on an upload: how many reports were counted, and why others were not.

A device reads the verdict after it has sent an upload. The verdict affects when a report is sent
again, but never the content of the report.

A header of the same response lists the metrics that the collector has stopped. The list is not in
the body, because the body must not get new fields, whereas devices ignore unknown headers. Each
entry names a metric and an edition, because two metrics with equal definitions have the same
edition. Malformed entries are ignored silently, because a forged header can only stop metrics.
"""

import json
import re
from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final, NamedTuple

from client_sdk.protocol.wire.report import EDITION, METRIC_NAME
from client_sdk.protocol.wire.strict_json import Malformed, check_fields, load, malformed

CLOCK_SKEW_S = 600
"""How many seconds a device's clock may be ahead of the collector's clock. Without this tolerance,
the collector would refuse reports for a window that has just begun on the device."""


class Refusal(StrEnum):
    """The reason why a well-formed report cannot be counted.

    The value is the code that a response contains.
    """

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
        """An English sentence about the problem and, if possible, the solution."""
        return _SENTENCES[self]

    @property
    def retryable(self) -> bool:
        """Whether the collector may accept the report after the collector's registry is updated."""
        return self in _RETRYABLE


_RETRYABLE = frozenset({Refusal.UNKNOWN_METRIC, Refusal.UNKNOWN_EDITION, Refusal.FORMER_EDITION})

_SENTENCES = {
    Refusal.UNKNOWN_METRIC: "The collector's registry has no such metric: deploy the registry of the app first.",
    Refusal.UNKNOWN_EDITION: (
        "The collector does not know this edition: if it runs with --trial, start it without --trial; "
        "otherwise, deploy the app's registry with its history."
    ),
    Refusal.FORMER_EDITION: "The collector's registry is newer than the app's: add the app's registry to the history.",
    Refusal.WRONG_WINDOW: "The window is not of the kind (day, week or month) that the metric's definition names.",
    Refusal.WINDOW_IN_FUTURE: "The window has not begun yet by the collector's clock: check the device's clock.",
    Refusal.WINDOW_CLOSED: "The window is closed: a closed window never changes.",
    Refusal.METRIC_EXPIRED: "The window begins after the metric's expiry date: the question is no longer asked.",
    Refusal.SYMBOL_OUT_OF_RANGE: "The symbol is not one of the metric's symbols.",
}


class Verdict(NamedTuple):
    """The outcome of an upload.

    Attributes:
        reports: the number of reports in the upload.
        refused: the index and reason of each report that was not counted, in ascending order of the
            index.

    """

    reports: int
    refused: tuple[tuple[int, Refusal], ...] = ()

    @property
    def accepted(self) -> int:
        """The number of reports that were counted."""
        return self.reports - len(self.refused)

    def encode(self) -> bytes:
        """Return the verdict as the JSON body of the response."""
        if not self.refused:
            return b'{"accepted":%d,"refused":[]}' % self.reports
        refused = [{"index": index, "code": code.value} for index, code in self.refused]
        return json.dumps({"accepted": self.accepted, "refused": refused}, separators=(",", ":")).encode()

    @classmethod
    def decode(cls, body: bytes, reports: int) -> "Verdict":
        """Read the response to an upload of ``reports`` reports.

        Raises:
            MalformedError: if the body is not a verdict on exactly ``reports`` reports.
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
        malformed(Malformed.INVALID_VERDICT, "refused", "must contain indexes of the upload's reports")
    if not isinstance(code, str) or code not in tuple(Refusal):
        malformed(Malformed.INVALID_VERDICT, "refused", "must contain known refusal codes")
    return index, Refusal(code)


STOPPED: Final = "Hearsay-Stopped"
"""The name of the header that lists stopped metrics."""

MAX_STOPPED: Final = 64
"""The maximum number of stopped metrics in a header. To stop more metrics, an app must release a
new registry."""

MAX_STOPPED_CHARS: Final = 2048
"""The maximum length of the header's value in characters. Some proxies limit the total size of all
headers to 4 KiB."""

MetricEdition = tuple[str, str]
"""A metric's name and one of its editions."""

_ENTRY = re.compile(f"({METRIC_NAME.pattern}):({EDITION.pattern})")


def stopped_metric(text: object) -> MetricEdition | None:
    """Return the metric and edition in an entry of `STOPPED`; None if the entry is malformed."""
    match = _ENTRY.fullmatch(text) if isinstance(text, str) else None
    return None if match is None else (match[1], match[2])


def stopped_entry(metric: MetricEdition) -> str:
    """Return the entry of the header `STOPPED` for a metric, such as ``dark_mode:0123456789ab``."""
    return ":".join(metric)


def encode_stopped(metrics: Iterable[MetricEdition]) -> str:
    """Return the value of the header `STOPPED`."""
    return ",".join(map(stopped_entry, metrics))


def decode_stopped(header: str | None) -> tuple[MetricEdition, ...]:
    """Parse the value of the header `STOPPED`. A missing or overlong value stops no metric.

    Only the first `MAX_STOPPED` entries are read; malformed entries are left out.
    """
    if header is None or len(header) > MAX_STOPPED_CHARS:
        return ()
    entries = header.split(",")[:MAX_STOPPED]
    return tuple(named for named in (stopped_metric(text.strip(" ")) for text in entries) if named is not None)
