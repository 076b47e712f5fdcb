"""The keys ``values`` and ``other``, which categories, ordinals, sets and texts share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from client_sdk.protocol.kinds.key import Key, listing, text
from client_sdk.protocol.kinds.kind import MAX_CATEGORIES
from client_sdk.protocol.toml_table import MAX_TEXT, TomlTable, is_text, suggestion


def _read_values(table: TomlTable, key: Key, _: Mapping[str, Any]) -> tuple[str, ...] | None:
    values, most = table.take(key.name, required=True), key.own["maxItems"]
    if values is None:
        return None
    if not isinstance(values, list) or not 2 <= len(values) <= most:  # noqa: PLR2004 one value asks nothing
        table.mistake(key.name, f"must be a list of 2 to {most} texts")
        return None
    for value in values:
        if not is_text(value):
            table.mistake(key.name, f"must hold texts of 1 to {MAX_TEXT} printable characters")
            return None
    if len(set(values)) < len(values):
        table.mistake(key.name, "must not hold a value twice")
        return None
    return tuple(values)


VALUES: Final = Key(
    "values",
    listing(text() | {"description": "a value"}, 2, MAX_CATEGORIES) | {"uniqueItems": True},
    "the answers",
    read=_read_values,
)


def _read_other(table: TomlTable, key: Key, before: Mapping[str, Any]) -> str | None:
    values, other = before["values"], table.text(key.name)
    if other and values is not None and other not in values:
        table.mistake(key.name, f"must be one of values{suggestion(other, values)}")
        return None
    return other or None


OTHER: Final = Key(
    "other",
    text(),
    "of a category or a set: the value that stands for every answer or member which is not listed; of a text: the "
    "letter that stands for every other letter",
    required=False,
    read=_read_other,
)
