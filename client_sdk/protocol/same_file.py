"""Whether a file to be written would replace what was read, or a file of another kind."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

HEAD_BYTES = 4096
"""How much of a file its kind is read from."""


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


def replaces_another_kind(path: Path, is_own: Callable[[bytes], bool]) -> bool:
    """Whether writing to a path would destroy a file that the writer cannot have written.

    A path without a file, an empty file, and anything that is no regular file destroy nothing. A
    file that cannot be read counts as one of another kind.

    Args:
        path: the path to write to.
        is_own: decides by the first `HEAD_BYTES` of a file whether it is of the writer's kind.

    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return True
    return bool(head) and not is_own(head)
