"""The base class of all parts of a report."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A frozen record.

    The names of its fields are the names in JSON, unless a field says otherwise. JSON leaves out
    fields that have their default.
    """


def says(description: str) -> msgspec.Meta:
    """Return what the JSON Schema and the reference page say of a field."""
    return msgspec.Meta(description=description)
