"""Sums up a backup in one line for people."""

from __future__ import annotations

from collector.backup.lines import BackupLine, Bucket, ClosedWindows, TallyLine
from collector.plural import plural


class Summary:
    """Counts the contents of a backup.

    An upload that came during the export may be counted twice.
    """

    def __init__(self) -> None:
        """Start with an empty backup."""
        self._ids = self._tallies = self._windows = 0

    def add(self, line: BackupLine) -> None:
        """Count the contents of a line."""
        match line:
            case Bucket(members=members):
                self._ids += len(members)
            case TallyLine():
                self._tallies += 1
            case ClosedWindows(windows=windows):
                self._windows += len(windows)

    def __str__(self) -> str:
        """Return the summary."""
        ids, tallies = plural(self._ids, "remembered upload"), plural(self._tallies, "tally", "tallies")
        return f"{ids}, {tallies} and {plural(self._windows, 'closed window')}"
