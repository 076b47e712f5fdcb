"""The fields of a line of a backup while it is read: each is taken once, and leftovers are refused. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from client_sdk.protocol import Window, WindowError

MAX_COUNT = 2**63 - 1
"""What a counter of the store can hold."""

ANYTHING = re.compile(r".*")


class LineError(ValueError):
    """What is wrong with one line."""


@dataclass(frozen=True)
class Fields:
    """The fields of a line while it is read.

    Every method raises LineError for what must not be there.

    Attributes:
        raw: those that were not taken yet.

    """

    raw: dict[str, Any]

    def whole(self, name: str, least: int = 0, most: int = MAX_COUNT) -> int:
        """Return a whole number between two bounds."""
        return whole(self.take(name), name, least, most)

    def texts(self, name: str, pattern: re.Pattern[str]) -> list[str]:
        """Return a list of texts of a form."""
        found = self.take(name)
        if not isinstance(found, list):
            raise LineError(f"{name} is no list")
        return [text(one, name, pattern) for one in found]

    def text(self, name: str, pattern: re.Pattern[str]) -> str:
        """Return a text of a form."""
        return text(self.take(name), name, pattern)

    def take(self, name: str) -> Any:  # noqa: ANN401 what JSON holds
        """Return what a field holds."""
        if name not in self.raw:
            raise LineError(f"has no {name}")
        return self.raw.pop(name)

    def nothing_else(self) -> None:
        """Refuse every field that was not taken."""
        if self.raw:
            raise LineError("has unknown fields")


def whole(found: object, name: str, least: int, most: int) -> int:
    """Return what was found under a name if it is a whole number between two bounds; else raise LineError."""
    if type(found) is not int or not least <= found <= most:
        raise LineError(f"{name} is no whole number from {least} to {most}")
    return found


def text(found: object, name: str, pattern: re.Pattern[str]) -> str:
    """Return what was found under a name if it is a text of a form; else raise LineError."""
    if not isinstance(found, str) or not pattern.fullmatch(found):
        raise LineError(f"{name} is not of the form that it must have")
    return found


def window(found: object) -> str:
    """Return what was found if it names a window; else raise LineError."""
    try:
        return Window.parse(text(found, "window", ANYTHING)).text
    except WindowError:
        raise LineError("names a window that is none") from None
