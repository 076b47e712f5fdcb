"""Code that all command-line programs share: exit statuses, shell completion and file checks."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterable, Mapping
from enum import IntEnum
from pathlib import Path
from typing import Final


class ExitStatus(IntEnum):
    """The exit status of a command."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOTHING_NEW = 3
    PARTLY_FAILED = 4
    ALERT = 5


MEANINGS: Final[dict[ExitStatus, str]] = {
    ExitStatus.DONE: "The command did what it was asked to do.",
    ExitStatus.FAILED: (
        "The command failed, or found what it looks for, such as a mistake in a registry or a refuted claim. "
        "`report`: none of the tallies could be estimated. `archive`: every attempted window failed. Standard error "
        "says what to do."
    ),
    ExitStatus.USAGE: (
        "The command line is wrong, or names a registry or a file of answers that the command cannot use. Only "
        "`check` reports a mistake in the registry with status 1."
    ),
    ExitStatus.NOTHING_NEW: (
        "`report`: there is no tally of a closed window; with `--preliminary`, no tally at all. `archive`: every "
        "closed window is already in the archive, or another run is in progress."
    ),
    ExitStatus.PARTLY_FAILED: "`archive`: some windows failed, others were written. The next run retries the failures.",
    ExitStatus.ALERT: (
        "`report` and `archive`: an alert fired. This status takes precedence over 0 and 4, because no later run of "
        "`archive` checks the same window for alerts."
    ),
}
"""The meaning of each exit status, as shown on the reference page."""


NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""The operating system's error codes for a full disk, a reached quota or a file size limit."""

COMPLETION_HINTS: Final[Mapping[str, str]] = {
    "bash": "completion works in new shells if the package bash-completion is installed",
    "zsh": "add this to ~/.zshrc, before compinit: fpath+=~/.zfunc",
    "fish": "completion works in new shells",
}
"""For each shell, the instructions to print after writing its completion script."""


def completion_path(program: str, shell: str, home: Path, environment: Mapping[str, str]) -> Path:
    """Return the file from which a shell reads the completions of a program."""
    if shell == "bash":
        data = Path(environment.get("XDG_DATA_HOME") or home / ".local" / "share")
        return data / "bash-completion" / "completions" / program
    if shell == "zsh":
        return home / ".zfunc" / f"_{program}"
    config = Path(environment.get("XDG_CONFIG_HOME") or home / ".config")
    return config / "fish" / "completions" / f"{program}.fish"


HEAD_BYTES = 4096
"""The number of bytes at the start of a file that suffice to identify the file's type."""


def is_same_file(path: Path, other: Path) -> bool:
    """Whether two paths name the same file, after following links. The file need not exist yet."""
    try:
        return path.samefile(other)
    except OSError:
        return path.resolve() == other.resolve()


def replaced(written: Iterable[Path], read: Iterable[Path]) -> Path | None:
    """Return the first path in ``read`` that is also in ``written``.

    Returns None if there is no such path.
    """
    written = tuple(written)
    return next((path for path in read if any(is_same_file(path, target) for target in written)), None)


def replaces_another_kind(path: Path, is_own: Callable[[bytes], bool]) -> bool:
    """Whether writing to a path would replace another program's file.

    It is safe to write to a missing file, to an empty file, and to anything that is not a regular
    file. Unreadable files count as another program's files.
    """
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            head = file.read(HEAD_BYTES)
    except OSError:
        return True
    return bool(head) and not is_own(head)
