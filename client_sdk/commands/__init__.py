"""The commands of hearsay-client that need no device: for registries, completion, self-test.

All but the self-test import the vocabulary only. Each module turns arguments into an `Outcome`.
"""

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
