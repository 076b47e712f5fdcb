"""The index of an archive, made from its last index and the reports since then."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from client_sdk.protocol.window import Window
from estimator.archive.folder import INDEX, PAGE, REPORT, Archive
from estimator.atomic_file import write_whole
from estimator.errors import ReportError
from estimator.formats.from_json import read_report
from estimator.render.html.index import INDEX_SCHEMA, ArchivedWindow, index_as_html, index_as_json


def write_index(archive: Archive) -> None:
    """Write the index where it differs from the files that are there.

    Raises:
        OutputError: if it cannot be written.

    """
    known = _known(archive.folder / INDEX)
    entries = [known.get(window.text) or _entry(window, archive.path(window)) for window in archive.windows()]
    for name, text in ((INDEX, index_as_json(entries)), (PAGE, index_as_html(entries))):
        if not _holds(archive.folder / name, text.encode()):
            write_whole(archive.folder / name, text.encode())


def _known(path: Path) -> dict[str, ArchivedWindow]:
    """Return the entries of an index by window.

    They are empty where the file is missing or is not an index.
    """
    with suppress(OSError, ValueError, TypeError, KeyError):
        document = json.loads(path.read_bytes())
        if document["schema"] == INDEX_SCHEMA:
            entries = [ArchivedWindow.from_json(entry) for entry in document["windows"]]
            return {entry.window: entry for entry in entries}
    return {}


def _entry(window: Window, folder: Path) -> ArchivedWindow:
    files = sorted(path.name for path in folder.iterdir())
    report = None
    with suppress(ReportError):  # perhaps of another version; the index still links it
        report = read_report(folder / REPORT)
    return ArchivedWindow.of(window, files, report)


def _holds(path: Path, content: bytes) -> bool:
    with suppress(OSError):
        return path.read_bytes() == content
    return False
