"""One command for the server of one slot."""

from __future__ import annotations

from typing import NamedTuple

import hiredis

EVEN_WHEN_FULL = """#!lua flags=allow-oom
-- KEYS: the key of the command; ARGV: the command
return redis.call(unpack(ARGV))
"""


def even_when_full(name: str, key: str, *arguments: str | bytes | int) -> tuple[str | bytes | int, ...]:
    """Return a command that is also done where memory is full: it closes, or says of a store what it is.

    So a store that takes no uploads can be started on, read, closed and emptied of what is old.
    """
    return "EVAL", EVEN_WHEN_FULL, 1, key, name, key, *arguments


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
