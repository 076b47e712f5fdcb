"""The wire: a report, and the upload in which reports travel."""

from __future__ import annotations

import json
import re
from typing import NamedTuple

MAX_UPLOAD_BYTES = 65_536
"""Bytes of one upload's body: 256 reports with the longest names fit."""

MAX_REPORTS = 256
"""The most reports in one upload: a device's backlog of months, and a bound on one atomic step of
the store."""

MAX_SYMBOL = 2**53 - 1
"""The largest integer that every JSON reader keeps exactly (RFC 8259, section 6)."""

METRIC_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
EDITION = re.compile(r"[0-9a-f]{12}")
UPLOAD_ID = re.compile(r"[0-9a-f]{32}")


class Report(NamedTuple):
    """One perturbed answer.

    Attributes:
        metric: the metric's name.
        edition: 12 hex digits: what the report means.
        window: the window's name.
        symbol: the output symbol, from 0.

    """

    metric: str
    edition: str
    window: str
    symbol: int


class Upload(NamedTuple):
    """Reports that travel together and are counted together.

    Attributes:
        id: 32 random hex digits, the same in every attempt to deliver these reports.
        reports: from 1 to 256.

    """

    id: str
    reports: tuple[Report, ...]

    def encode(self) -> bytes:
        """Return the body of the request, the same bytes every time."""
        reports = [
            {"metric": report.metric, "edition": report.edition, "window": report.window, "symbol": report.symbol}
            for report in self.reports
        ]
        return json.dumps({"upload": self.id, "reports": reports}, separators=(",", ":")).encode()
