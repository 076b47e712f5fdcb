"""Whether what is to be written would replace what was read."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path


def is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths name one file, through whatever links; it may not exist yet."""
    try:
        return path.samefile(other)
    except OSError:
        return path.resolve() == other.resolve()


def replaced(written: Iterable[Path], read: Iterable[Path]) -> Path | None:
    """Return a file that is read and would be replaced by what is written; None if none would."""
    written = tuple(written)
    return next((path for path in read if any(is_same_file(path, target) for target in written)), None)
