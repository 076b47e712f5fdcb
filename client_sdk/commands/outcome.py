"""What a command has to say."""

from __future__ import annotations

from typing import NamedTuple


class Outcome(NamedTuple):
    """The end of a command.

    Attributes:
        text: for standard output, with its line breaks.
        problems: sentences for standard error; with any the exit status is 1.

    """

    text: str = ""
    problems: tuple[str, ...] = ()
