"""A parser for a TOML table.

The parser reads single keys, collects mistakes and refuses unknown keys.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeGuard, TypeVar

from client_sdk.protocol.window import WindowKind

MAX_TEXT = 500
"""The maximum length, in characters, of a string such as a purpose or a value of a category."""

MOST_DEVICES = 10**12
"""The maximum number of devices, which is a hundred times the world's population."""

MAX_EXPONENT = 100
"""The maximum absolute value of a number's decimal exponent. With this limit, exact fractions are
small, and every number is in the range of a float."""

ALIKE = 0.7
"""The minimum similarity, as a `difflib` ratio, of a misspelled word and a suggestion. With this
minimum, one or two letters may be wrong, but `fill_value` is not suggested for `values`."""


def is_text(value: object, most: int = MAX_TEXT) -> TypeGuard[str]:
    """Whether a value is a string that can be shown on one line."""
    return isinstance(value, str) and 0 < len(value) <= most and value.isprintable()


def is_number(value: object) -> TypeGuard[int | Decimal]:
    """Whether a value is a finite number."""
    return isinstance(value, int | Decimal) and not isinstance(value, bool) and Decimal(value).is_finite()


def is_moderate(number: int | Decimal) -> bool:
    """Whether a number is 0 or has a moderate order of magnitude.

    The order of magnitude is the decimal exponent of the leading digit. The exponent's absolute
    value must be at most `MAX_EXPONENT`.
    """
    return not number or abs(Decimal(number).adjusted()) <= MAX_EXPONENT


def suggestion(value: object, choices: Iterable[str]) -> str:
    """Return a suggestion such as `; did you mean "values"?`; empty if no choice is similar."""
    from difflib import get_close_matches  # noqa: PLC0415 only a mistake needs it

    close = get_close_matches(value[:MAX_TEXT], list(choices), 1, ALIKE) if isinstance(value, str) else []
    return f'; did you mean "{close[0]}"?' if close else ""


Choice = TypeVar("Choice", bound=StrEnum)


class TomlTable:
    """A parser for one table of the registry. It collects all mistakes.

    Attributes:
        mistake_count: the number of mistakes in this table so far.
    """

    def __init__(self, raw: object, place: str, mistakes: list[tuple[str, str]]) -> None:
        """Read the value at a place in the file. Add a mistake if the value is not a table."""
        self.mistake_count = 0
        self._place = place
        self._mistakes = mistakes
        self._known: list[str] = []
        self._raw: dict[str, Any] = dict(raw) if isinstance(raw, dict) else {}
        if not isinstance(raw, dict):
            self.mistake("", f"must be a table: [{place}]")

    def mistake(self, key: str, problem: str) -> None:
        """Add a mistake about a key."""
        place = ".".join(part for part in (self._place, key) if part)
        self._mistakes.append((place, problem))
        self.mistake_count += 1

    def take(self, key: str, *, required: bool = False) -> Any:  # noqa: ANN401 any TOML value
        """Remove a key from the table and return its raw value; None if the key is missing."""
        self._known.append(key)
        if required and key not in self._raw:
            self.mistake(key, "is missing")
        return self._raw.pop(key, None)

    def has(self, key: str) -> bool:
        """Whether a key is in the table and has not been removed yet."""
        return key in self._raw

    @property
    def left(self) -> list[str]:
        """The keys that have not been removed yet."""
        return list(self._raw)

    def text(self, key: str, *, required: bool = False, default: str = "", most: int = MAX_TEXT) -> str:
        """Return the printable string that is the value of a key.

        If the key is missing, return ``default``. If the value is invalid, return an empty string.
        """
        value = self.take(key, required=required)
        if value is None:
            return default
        if not is_text(value, most):
            self.mistake(key, f"must be a string of 1 to {most} printable characters")
            return ""
        return value

    def number(self, key: str, *, required: bool = True) -> Fraction | None:
        """Return the finite number that is the value of a key.

        If the value is missing or invalid, return None.
        """
        value = self.take(key, required=required)
        if value is None:
            return None
        if not is_number(value):
            self.mistake(key, "must be a finite number")
            return None
        if not is_moderate(value):
            self.mistake(key, f"must be 0, or have an absolute value from 1e-{MAX_EXPONENT} to 1e{MAX_EXPONENT}")
            return None
        return Fraction(value)

    def whole(self, key: str, most: int, *, required: bool = True) -> int | None:
        """Return the whole number, from 1 to ``most``, that is the value of a key.

        If the value is missing or invalid, return None.
        """
        value = self.take(key, required=required)
        if value is not None and (type(value) is not int or not 1 <= value <= most):
            self.mistake(key, f"must be a whole number from 1 to {most}")
            return None
        return value

    def flag(self, key: str, *, default: bool = False) -> bool:
        """Return the boolean that is the value of a key.

        If the value is missing or invalid, return ``default``.
        """
        value = self.take(key)
        if value is not None and not isinstance(value, bool):
            self.mistake(key, "must be true or false")
        return value if isinstance(value, bool) else default

    def choice(self, key: str, choices: type[Choice], *, required: bool) -> Choice | None:
        """Return the member of ``choices`` that is the value of a key.

        If the value is missing or invalid, return None.
        """
        value = self.take(key, required=required)
        if value is None or (isinstance(value, str) and value in tuple(choices)):
            return None if value is None else choices(value)
        self.mistake(key, f"must be one of: {', '.join(choices)}{suggestion(value, choices)}")
        return None

    def window(self, key: str, default: WindowKind) -> WindowKind:
        """Return the kind of window that is the value of a key.

        If the value is missing or invalid, return ``default``.
        """
        value = self.take(key)
        if value is None:
            return default
        if not isinstance(value, str) or value not in tuple(WindowKind):
            self.mistake(key, f'must be "day", "week" or "month"{suggestion(value, WindowKind)}')
            return default
        return WindowKind(value)

    def nothing_else(self) -> None:
        """Add a mistake for every key that has not been removed."""
        for key in self._raw:
            meant = suggestion(key, self._known) or "; remove it or correct its spelling"
            self.mistake(key, f"is an unknown key{meant}")
