"""The exit statuses of all three programs, for shells, cron and systemd."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class ExitStatus(IntEnum):
    """What a command tells the program that started it."""

    DONE = 0
    FAILED = 1
    USAGE = 2
    NOTHING_NEW = 3
    PARTLY_FAILED = 4
    ALERT = 5


MEANINGS: Final[dict[ExitStatus, str]] = {
    ExitStatus.DONE: "The command did what it was asked to do.",
    ExitStatus.FAILED: (
        "The command failed, or found what it looks for: a mistake in a registry, a failed check, a refuted claim. "
        "`report`: none of the tallies could be estimated. `archive`: every attempted window failed. Standard error "
        "says what to do."
    ),
    ExitStatus.USAGE: (
        "The command line is wrong, or the command cannot use the registry or the file of answers that it names. Only "
        "`check` reports a mistake in the registry with 1."
    ),
    ExitStatus.NOTHING_NEW: (
        "`report`: there is no tally of a closed window; with `--preliminary`, no tally at all. `archive`: every "
        "closed window is there already, or another run is at work."
    ),
    ExitStatus.PARTLY_FAILED: "`archive`: some windows were written and others failed. The next run tries those again.",
    ExitStatus.ALERT: (
        "`report` and `archive`: an alert fired. This takes precedence over 0 and 4, because no later run of `archive` "
        "judges a window again."
    ),
}
"""A sentence or two for each, as the reference page shows them."""
