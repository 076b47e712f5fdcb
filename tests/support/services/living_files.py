"""Files of a folder that a running program may rename or remove at any time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")


def of_files(read: Callable[[Path], T], folder: Path, pattern: str = "*") -> list[T]:
    """Read all files below a folder whose names match; again from the start if one is gone."""
    while True:
        try:
            return [read(path) for path in sorted(folder.rglob(pattern)) if path.is_file()]
        except FileNotFoundError:
            continue


def bytes_below(folder: Path, pattern: str = "*") -> bytes:
    """Return all bytes of all files below a folder whose names match."""
    return b"".join(of_files(Path.read_bytes, folder, pattern))
