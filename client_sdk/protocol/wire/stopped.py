"""The header by which a collector tells every device which questions it has stopped.

The body of a verdict is closed, so that the list travels beside it: a device that does not know the
header ignores it. An entry names a metric and an edition, because two metrics that ask alike have
the same edition. Whoever answers can only silence with it. So what is malformed is left out, and
nobody is told.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from client_sdk.protocol.wire.report import EDITION, METRIC_NAME

STOPPED: Final = "Hearsay-Stopped"
"""The header's name."""

MAX_STOPPED: Final = 64
"""The most questions of a list: of more, an app needs a new registry."""

MAX_STOPPED_CHARS: Final = 2048
"""The longest list in characters: proxies take 4 KiB of headers in all, and there are others."""

Question = tuple[str, str]
"""A metric's name and an edition of it."""

_ENTRY = re.compile(f"({METRIC_NAME.pattern}):({EDITION.pattern})")


def question(text: object) -> Question | None:
    """Return the question that an entry names; None if it names none."""
    match = _ENTRY.fullmatch(text) if isinstance(text, str) else None
    return None if match is None else (match[1], match[2])


def entry(question: Question) -> str:
    """Return the entry of a question, such as ``dark_mode:0123456789ab``."""
    return ":".join(question)


def encode(questions: Iterable[Question]) -> str:
    """Return the header's value."""
    return ",".join(map(entry, questions))


def decode(header: str | None) -> tuple[Question, ...]:
    """Read the header's value; without one, or of one that is too long, nothing is stopped.

    Only the first `MAX_STOPPED` entries are read, and entries that name no question are left out.
    """
    if header is None or len(header) > MAX_STOPPED_CHARS:
        return ()
    entries = header.split(",")[:MAX_STOPPED]
    return tuple(named for named in (question(text.strip(" ")) for text in entries) if named is not None)
