"""What an archive holds: from what its last index said, and from the reports that it did not know yet."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Final

from client_sdk.protocol import Window
from estimator.archive.folder import REPORT, Archive
from estimator.atomic_file import write_whole
from estimator.errors import ReportError
from estimator.formats.from_json.report import load_report
from estimator.render.html.index import INDEX_SCHEMA, Entry, index_as_html, index_as_json

INDEX: Final = "index.json"
PAGE: Final = "index.html"


def write_index(archive: Archive) -> None:
    """Write the index anew where it differs from what is there.

    Raises:
        OutputError: if it cannot be written.

    """
    known = _known(archive.folder / INDEX)
    entries = [known.get(window.text) or _entry(window, archive.path(window)) for window in archive.windows()]
    for name, text in ((INDEX, index_as_json(entries)), (PAGE, index_as_html(entries))):
        if not _holds(archive.folder / name, text.encode()):
            write_whole(archive.folder / name, text.encode())


def _known(path: Path) -> dict[str, Entry]:
    """Return what an index says; nothing where there is none, or one that is not like ours."""
    with suppress(OSError, ValueError, TypeError, KeyError):
        document = json.loads(path.read_bytes())
        if document["schema"] == INDEX_SCHEMA:
            entries = (Entry(**one | {"files": tuple(one["files"])}) for one in document["windows"])
            return {one.window: one for one in entries}
    return {}


def _entry(window: Window, folder: Path) -> Entry:
    files = tuple(sorted(path.name for path in folder.iterdir()))
    try:
        report = load_report(folder / REPORT)
    except ReportError:  # of another version, perhaps: it is linked nevertheless
        return Entry(window.text, window.kind, None, None, None, files)
    reports = sum(one.reports for one in report.metrics)
    return Entry(window.text, window.kind, len(report.metrics), reports, len(report.skipped), files)


def _holds(path: Path, content: bytes) -> bool:
    with suppress(OSError):
        return path.read_bytes() == content
    return False
