"""A report, and the upload that contains a device's reports."""

import json
import re
from typing import NamedTuple

MAX_REPORTS = 256
"""The maximum number of reports in an upload. One upload can therefore contain the reports that a
device queues in several months. The store can count 256 reports in one atomic step."""

METRIC_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
EDITION = re.compile(r"[0-9a-f]{12}")


class Report(NamedTuple):
    """One perturbed answer to a metric in a window. The symbol is an integer of at least 0.

    The edition, 12 hex digits, identifies the meaning of the report.
    """

    metric: str
    edition: str
    window: str
    symbol: int


class Upload(NamedTuple):
    """From 1 to 256 reports, sent in one request and counted in one atomic step."""

    id: str
    reports: tuple[Report, ...]

    def encode(self) -> bytes:
        """Return the request body, which is the same for every attempt to send the upload."""
        reports = [
            {"metric": report.metric, "edition": report.edition, "window": report.window, "symbol": report.symbol}
            for report in self.reports
        ]
        return json.dumps({"upload": self.id, "reports": reports}, separators=(",", ":")).encode()
