"""How a value of a domain is written in a report."""

from __future__ import annotations

Label = bool | int | str | tuple[bool | str, bool | str] | None
"""A value that has a share: of a boolean, a count, a category or a cross. None means no answer."""
