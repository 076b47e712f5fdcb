"""The keys of a metric's table in a registry.

The parser and the JSON Schema are derived from these keys.

This module also declares the keys ``values`` and ``other``, which several kinds share.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from client_sdk.protocol.kinds.kind import MAX_CATEGORIES
from client_sdk.protocol.toml_table import MAX_TEXT, TomlTable, is_text, suggestion

Schema = dict[str, Any]


def whole(most: int) -> Schema:
    """Return the schema of a whole number from 1 to ``most``."""
    return {"type": "integer", "minimum": 1, "maximum": most}


def text(most: int = MAX_TEXT) -> Schema:
    """Return the schema of a one-line string of 1 to ``most`` characters."""
    return {"type": "string", "minLength": 1, "maxLength": most, "pattern": r"^[^\u0000-\u001f\u007f]*$"}


def listing(items: Schema, least: int, most: int | None = None) -> Schema:
    """Return the schema of a list of ``least`` to ``most`` items."""
    return {"type": "array", "items": items, "minItems": least} | ({} if most is None else {"maxItems": most})


def closed(properties: dict[str, Schema], required: int) -> Schema:
    """Return the schema of a table that allows only the keys in ``properties``.

    ``required`` is the number of keys that must be set; these keys come first in ``properties``.
    """
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties)[:required],
        "additionalProperties": False,
    }


NUMBER: Final[Schema] = {"type": "number"}
FLAG: Final[Schema] = {"type": "boolean"}


def read_by_schema(table: TomlTable, key: "Key", _: Mapping[str, Any]) -> Any:  # noqa: ANN401 any TOML value
    """Return the value of a key in a table; None if the value is missing or invalid."""
    if "enum" in key.own:
        return _read_choice(table, key)
    match key.own["type"]:
        case "integer":
            return table.whole(key.name, key.own["maximum"], required=key.required)
        case "number":
            return table.number(key.name, required=key.required)
        case "boolean":
            return _read_flag(table, key)
        case _:
            return table.text(key.name, required=key.required, most=key.own["maxLength"]) or None


def _read_flag(table: TomlTable, key: "Key") -> bool | None:
    value = table.take(key.name, required=key.required)
    if value is not None and not isinstance(value, bool):
        table.mistake(key.name, "must be true or false")
        return None
    return value


def _read_choice(table: TomlTable, key: "Key") -> Any:  # noqa: ANN401 any TOML value
    value, choices = table.take(key.name, required=key.required), key.own["enum"]
    if value is None or (type(value) is type(choices[0]) and value in choices):
        return value
    meant = suggestion(value, [each for each in choices if isinstance(each, str)])
    table.mistake(key.name, f"must be {_either(choices)}{meant}")
    return None


def _either(choices: list[Any]) -> str:
    words = [f'"{each}"' if isinstance(each, str) else str(each) for each in choices]
    return f"{', '.join(words[:-1])} or {words[-1]}" if len(words) > 1 else words[0]


class Key(NamedTuple):
    """A key of a metric's table.

    Attributes:
        name: the key's spelling in the file.
        schema: the JSON Schema of the value, for all kinds.
        description: a phrase for editors and for the reference page.
        required: whether a metric must set the key, if the metric's kind has the key.
        read: a function from a table, the key and the values of earlier keys to the key's value. If
            the value is missing or invalid, the result is None. Mistakes are added to the table.
        narrower: the JSON Schema for a kind that allows fewer values than ``schema``; None if the
            kind allows all values.
    """

    name: str
    schema: Schema
    description: str
    required: bool = True
    read: Callable[[TomlTable, "Key", Mapping[str, Any]], Any] = read_by_schema
    narrower: Schema | None = None

    @property
    def own(self) -> Schema:
        """The JSON Schema of the value, for the kind that declares the key."""
        return self.schema if self.narrower is None else self.narrower


def _read_values(table: TomlTable, key: Key, _: Mapping[str, Any]) -> tuple[str, ...] | None:
    values, most = table.take(key.name, required=True), key.own["maxItems"]
    if values is None:
        return None
    if not isinstance(values, list) or not 2 <= len(values) <= most:  # noqa: PLR2004 a single value carries no information
        table.mistake(key.name, f"must be a list of 2 to {most} strings")
        return None
    for value in values:
        if not is_text(value):
            table.mistake(key.name, f"must contain only strings of 1 to {MAX_TEXT} printable characters")
            return None
    if len(set(values)) < len(values):
        table.mistake(key.name, "must not contain a value twice")
        return None
    return tuple(values)


VALUES: Final = Key(
    "values",
    listing(text() | {"description": "a value"}, 2, MAX_CATEGORIES) | {"uniqueItems": True},
    "the possible answers",
    read=_read_values,
)


def _read_other(table: TomlTable, key: Key, before: Mapping[str, Any]) -> str | None:
    values, other = before["values"], table.text(key.name)
    if other and values is not None and other not in values:
        table.mistake(key.name, f"must be one of the listed values{suggestion(other, values)}")
        return None
    return other or None


OTHER: Final = Key(
    "other",
    text(),
    "the value that replaces all unlisted answers or members; for a text, the letter that replaces all "
    "unlisted letters",
    required=False,
    read=_read_other,
)
