"""Formats answers, ranges and names for users."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import islice
from typing import Final

from client_sdk.protocol.kinds.kind import Label
from client_sdk.protocol.sentences import Sentences

SPECIAL: Final = re.compile(r"[\\`*_{}\[\]#|~!()$^]")
"""Matches the characters that have a special meaning within a line of Markdown, except ``<``, ``>``
and ``&``, which `escaped` replaces with HTML entities."""

MOST_LISTED: Final = 12
"""The maximum number of answers in a list. A longer list ends with the number of omitted
answers."""

DECIMALS: Final = 6
"""The maximum number of decimals in the printed minimum or maximum of a range."""

SHOWN: Final = 3
"""The maximum number of answers in a description of a report."""


def escaped(text: str) -> str:
    """Escape a string so that Markdown and HTML show it literally."""
    marked = SPECIAL.sub(r"\\\g<0>", text)
    return marked.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def listed(answers: Sequence[str], say: Sentences) -> str:
    """Return one line with the first `MOST_LISTED` answers, and the number of further answers."""
    line = ", ".join(map(escaped, answers[:MOST_LISTED]))
    others = len(answers) - MOST_LISTED
    return say("statement.others", answers=line, number=others) if others > 0 else line


def with_unit(end: Fraction, unit: str, say: Sentences) -> str:
    """Return an end of a range and the unit, formatted for users."""
    return f"{say.number(end, DECIMALS)} {escaped(unit)}".rstrip()


def preview(values: tuple[str, ...]) -> str:
    """Return the first few values on one line, for an error message."""
    first = ", ".join(repr(value) for value in values[:6])
    return first + (f", … ({len(values)} values)" if len(values) > 6 else "")  # noqa: PLR2004 fits on a line


def said(label: Label, say: Sentences) -> str:
    """Return an answer in the user's language. A comma separates the answers of a pair."""
    if label is None:
        return say("reported.nothing")
    if isinstance(label, bool):
        return say("reported.true" if label else "reported.false")
    if isinstance(label, tuple):
        return ", ".join(said(part, say) for part in label)
    return str(label)


def either(answers: Iterable[str], say: Sentences) -> str:
    """Return at most `SHOWN` answers as alternatives, such as "a or b"."""
    named = list(islice(answers, SHOWN + 1))
    if len(named) > SHOWN:
        return say("reported.or_others", first=", ".join(named[:SHOWN]))
    return say("reported.or", first=", ".join(named[:-1]), last=named[-1]) if len(named) > 1 else named[0]
