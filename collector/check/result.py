"""What a check returns."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Level(StrEnum):
    """How bad a result is."""

    OK = "ok"
    WARNING = "warning"
    FAILED = "failed"


class CheckResult(NamedTuple):
    """The result of one check.

    Attributes:
        level: how bad it is.
        subject: what was checked, in a word.
        text: the result, and what to do if it is bad.

    """

    level: Level
    subject: str
    text: str
