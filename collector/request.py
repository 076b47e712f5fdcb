"""One command for the server of one slot."""

from __future__ import annotations

from typing import NamedTuple

import hiredis


class Request(NamedTuple):
    """A command as it is sent.

    Attributes:
        tag: what decides the slot: a shard's prefix, or a key that stands alone.
        command: its bytes; safe to be sent again.

    """

    tag: str
    command: bytes

    @classmethod
    def of(cls, tag: str, *command: str | bytes | int) -> Request:
        """Return the request of a command in words."""
        return cls(tag, hiredis.pack_command(command))  # type: ignore[arg-type] # its stub takes one element
