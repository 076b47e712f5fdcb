"""Files that a report may replace: those that a report wrote, in whatever form."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from client_sdk.protocol.same_file import replaces_another_kind
from estimator.results.row import COLUMNS

_HEADS: Final = re.compile(
    rb"\s*<!doctype html>.*?<title>[^<]*[Tt]elemetry report"  # a page, or the index of an archive
    rb'|\{\n  "schema": \d'  # a report, an index or a model, in JSON
    rb"|PAR1"
    rb"|" + ",".join(COLUMNS[:3]).encode() + rb"|There is nothing to report"
    rb"|.*\bestimate\s+\xc2\xb1",  # a table
    re.DOTALL,
)


def is_not_ours(path: Path) -> bool:
    """Return whether writing to a path would destroy a file that no report has written."""
    return replaces_another_kind(path, lambda head: _HEADS.match(head) is not None)
