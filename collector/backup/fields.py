"""Reads the fields of a line of a backup: takes each once, and refuses leftovers. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from client_sdk.protocol.errors import WindowError
from client_sdk.protocol.window import Window

MAX_COUNT = 2**63 - 1
"""What a counter of the store can hold."""

ANYTHING = re.compile(r".*")


class LineError(ValueError):
    """What is wrong with one line."""


@dataclass(frozen=True)
class Fields:
    """The fields of a line while it is read.

    Every method raises LineError for a field that is missing or invalid.

    Attributes:
        raw: the fields that have not been taken yet.

    """

    raw: dict[str, Any]

    def whole(self, name: str, least: int = 0, most: int = MAX_COUNT) -> int:
        """Take a whole number between two bounds."""
        return whole(self.take(name), name, least, most)

    def texts(self, name: str, pattern: re.Pattern[str]) -> list[str]:
        """Take a list of strings that match a pattern."""
        values = self.take(name)
        if not isinstance(values, list):
            raise LineError(f"{name} is no list")
        return [text(value, name, pattern) for value in values]

    def text(self, name: str, pattern: re.Pattern[str]) -> str:
        """Take a string that matches a pattern."""
        return text(self.take(name), name, pattern)

    def take(self, name: str) -> Any:  # noqa: ANN401 what JSON holds
        """Take the value of a field."""
        if name not in self.raw:
            raise LineError(f"has no {name}")
        return self.raw.pop(name)

    def nothing_else(self) -> None:
        """Refuse every field that has not been taken."""
        if self.raw:
            raise LineError("has unknown fields")


def whole(value: object, name: str, least: int, most: int) -> int:
    """Return a field's value if it is a whole number in a range, or raise LineError."""
    if type(value) is not int or not least <= value <= most:
        raise LineError(f"{name} is no whole number from {least} to {most}")
    return value


def text(value: object, name: str, pattern: re.Pattern[str]) -> str:
    """Return a field's value if it is a string that matches a pattern, or raise LineError."""
    if not isinstance(value, str) or not pattern.fullmatch(value):
        raise LineError(f"{name} has an invalid form")
    return value


def window(value: object) -> str:
    """Return a field's value if it names a window; otherwise raise LineError."""
    try:
        return Window.parse(text(value, "window", ANYTHING)).text
    except WindowError:
        raise LineError("names a window that does not exist") from None
