"""The domain of a text that nobody listed, read strictly from its metric's table."""

from __future__ import annotations

from string import ascii_letters, ascii_lowercase, digits
from typing import Final

from client_sdk.protocol.domain import BYTES, CELLS, CUT, MAX_LETTERS, MAX_TEXT_LENGTH, MAX_TEXTS, Text
from client_sdk.protocol.registry.table import TomlTable, is_text, suggestion

PRESETS: Final = {
    "bytes": BYTES,
    "domain": f"{ascii_lowercase}{digits}-.",
    "identifier": f"{ascii_letters}{digits}_",
}
"""Letters by a name. Their order is part of what a report means, so that they never change."""

CELLS_ALLOWED: Final = tuple(2**power for power in range(12, 18))
"""Fewer let too many texts share a cell; more find hardly any more texts, in larger tallies."""


def read_text(table: TomlTable) -> Text | None:
    """Return the domain; None if it has mistakes, which the table collects."""
    letters, other = _read_letters(table), table.text("other", most=1)
    max_length = table.whole("max_length", MAX_TEXT_LENGTH)
    max_items = table.whole("max_items", MAX_TEXTS, required=False)
    discover, cells = _read_discover(table), _read_cells(table)
    if other and letters == BYTES:
        table.mistake("other", "is not for bytes, which spell every text; remove it")
        return None
    if other and letters and other not in letters:
        table.mistake("other", "must be one of letters")
        return None
    if not letters or max_length is None or discover is None or cells is None:
        return None
    domain = Text(letters, max_length, other=other or None, discover=discover, max_items=max_items or 1, cells=cells)
    if 2**domain.bits <= cells:
        table.mistake("max_length", 'leaves so few texts that all can be listed; let kind = "category"')
        return None
    return domain


def _read_letters(table: TomlTable) -> str:
    """Return the letters; none if they have a mistake."""
    preset, letters = table.text("preset"), table.take("letters")
    if preset and letters is not None:
        table.mistake("preset", "must not stand beside letters; keep one of them")
        return ""
    if preset and preset not in PRESETS:
        table.mistake("preset", f"must be one of: {', '.join(PRESETS)}{suggestion(preset, PRESETS)}")
    if letters is None:
        if not preset:
            table.mistake("letters", 'is missing; name the letters of a text, such as "abcdefghijklmnopqrstuvwxyz"')
        return PRESETS.get(preset, "")
    if not is_text(letters, MAX_LETTERS) or not 1 < len(letters) == len(set(letters)) or CUT in letters:
        what = f"must be a text of 2 to {MAX_LETTERS} different printable characters"
        table.mistake("letters", f"{what} without {CUT!r}, which stands behind a text that was cut")
        return ""
    return letters


def _read_discover(table: TomlTable) -> bool | None:
    discover = table.take("discover", required=True)
    if discover is not None and not isinstance(discover, bool):
        table.mistake("discover", "must be true or false")
        return None
    return discover


def _read_cells(table: TomlTable) -> int | None:
    cells = table.take("cells")
    if cells is None:
        return CELLS
    if type(cells) is not int or cells not in CELLS_ALLOWED:
        table.mistake("cells", f"must be a power of two from {CELLS_ALLOWED[0]} to {CELLS_ALLOWED[-1]}")
        return None
    return cells
