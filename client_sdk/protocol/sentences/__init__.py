"""The sentences for users. An app may change or extend each language's catalog of sentences.

A sentence has a dotted key, such as ``statement.why``, and placeholders in braces. The Python and
browser SDKs read the same catalogs.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping
from datetime import date
from fractions import Fraction
from functools import cache
from math import floor
from pathlib import Path
from typing import Any, Final

from client_sdk.protocol.errors import LanguageError

ENGLISH: Final = "en"
"""The default language. The English catalog determines the keys and placeholders."""

SHIPPED: Final = ("de", ENGLISH)
"""The languages for which the SDK has a complete catalog."""

PURPOSE: Final = "purpose."
"""The prefix of the keys for purposes of metrics. Only the app can translate a purpose."""

TITLE: Final = "title."
"""The prefix of the keys for titles of metrics. Only the app can translate a title."""

LANGUAGE: Final = r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*"
"""The format of a language tag such as de or pt-BR (RFC 5646)."""

_PLACEHOLDER: Final = r"\{(\w+)\}"


class Sentences:
    """The sentences of one language.

    Attributes:
        texts: a mapping from key to sentence.

    """

    __slots__ = ("texts",)

    def __init__(self, texts: Mapping[str, str]) -> None:
        """Set the attributes."""
        self.texts = texts

    def __call__(self, key: str, /, **values: str | int) -> str:
        """Return a sentence in which the values replace the placeholders.

        Numbers are formatted according to the language.

        Other text in braces remains unchanged, because an app may write braces in a metric's
        purpose.
        """
        words = {name: value if isinstance(value, str) else self.number(value) for name, value in values.items()}
        return re.sub(_PLACEHOLDER, lambda match: words.get(match[1], match[0]), self.texts[key])

    def __contains__(self, key: str) -> bool:
        """Whether a key has a sentence."""
        return key in self.texts

    def date(self, day: date) -> str:
        """Return a date, formatted according to the language."""
        return self("number.date", year=f"{day:%Y}", month=f"{day:%m}", day=f"{day:%d}")

    def code(self, kind: str, code: str) -> str:
        """Return the words for a code, such as a metric's name.

        If no words exist for the code, return the code.
        """
        return self.texts.get(f"{kind}.{code}", code)

    def number(self, number: Fraction | int, decimals: int = 0) -> str:
        """Return a number rounded half up to ``decimals`` decimals, without trailing zeros."""
        units = floor(abs(number) * 10**decimals + Fraction(1, 2))
        whole, rest = divmod(units, 10**decimals)
        behind = f"{rest:0{decimals}}".rstrip("0") if decimals else ""
        text = f"{whole:,}".replace(",", self.texts["number.thousands"])
        sign = "-" if number < 0 and units else ""
        return f"{sign}{text}{self.texts['number.decimal']}{behind}" if behind else f"{sign}{text}"


@cache
def shipped(language: str = ENGLISH) -> Sentences:
    """Return the SDK's sentences in a language."""
    import tomllib  # noqa: PLC0415 importing the SDK must stay quick

    text = Path(__file__).with_name(f"{language}.toml").read_text(encoding="utf-8")
    return Sentences(dict(flattened(tomllib.loads(text))))


def sentences_in(language: str, own: Mapping[str, Mapping[str, str]]) -> Sentences:
    """Return the sentences of a language. The app's own sentences replace those of the SDK."""
    require_language(language, own)
    base = shipped(language).texts if language in SHIPPED else {}
    return Sentences({**base, **own.get(language, {})})


def require_language(language: str, own: Collection[str]) -> None:
    """Raise `LanguageError` if neither the SDK nor an app has sentences in a language."""
    if language not in SHIPPED and language not in own:
        raise LanguageError(f"there are no sentences in {language!r}; name one of: {', '.join(languages(own))}")


def languages(own: Collection[str]) -> list[str]:
    """Return the languages in which the SDK or the app has sentences, in alphabetical order."""
    return sorted({*SHIPPED, *own})


def flattened(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """Yield each value in nested tables, with its dotted key."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flattened(value, f"{before}{key}.")
        else:
            yield f"{before}{key}", value


def placeholders(text: str) -> set[str]:
    """Return the names in braces in a sentence."""
    return set(re.findall(_PLACEHOLDER, text))
