"""What a backup holds, in one line for people."""

from __future__ import annotations

from collector.backup.format import Bucket, Closed, Counts, Line
from collector.text import plural


class Summary:
    """Counts what is in the lines of a backup; an upload that came while it was made may be counted twice."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self._ids = self._tallies = self._windows = 0

    def add(self, line: Line) -> None:
        """Count what a line holds."""
        match line:
            case Bucket(members=members):
                self._ids += len(members)
            case Counts():
                self._tallies += 1
            case Closed(windows=windows):
                self._windows += len(windows)

    def __str__(self) -> str:
        """Say it."""
        ids, tallies = plural(self._ids, "remembered upload"), plural(self._tallies, "tally", "tallies")
        return f"{ids}, {tallies} and {plural(self._windows, 'closed window')}"
