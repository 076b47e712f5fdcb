"""The base class of all parts of a report and of every other document that a command prints."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A frozen record.

    The names of its fields are the names in JSON, unless a field says otherwise. JSON leaves out
    fields that have their default.

    Attributes:
        schema_number: stands first in its JSON. None if its schema has no number.
        unwritten: the names of fields that JSON leaves out.

    """

    schema_number: ClassVar[int | None] = None
    unwritten: ClassVar[frozenset[str]] = frozenset()


def says(description: str) -> msgspec.Meta:
    """Return what the JSON Schema and the reference page say of a field."""
    return msgspec.Meta(description=description)
