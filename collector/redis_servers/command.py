"""A command, packed for the server of its slot."""

from __future__ import annotations

from typing import NamedTuple

import hiredis

EVEN_WHEN_FULL = """#!lua flags=allow-oom
-- KEYS: the key of the command; ARGV: the command
return redis.call(unpack(ARGV))
"""


def even_when_full(name: str, key: str, *arguments: str | bytes | int) -> tuple[str | bytes | int, ...]:
    """Return a command that is carried out even if the server's memory is full.

    It is for commands that close a window or record a fact. With them a full store can still be
    started, read, closed and cleared of old tallies.

    Args:
        name: the command's name.
        key: its only key.
        arguments: its other arguments.

    """
    return "EVAL", EVEN_WHEN_FULL, 1, key, name, key, *arguments


class PackedCommand(NamedTuple):
    """A command in the form in which it is sent.

    Attributes:
        tag: decides the slot: a shard's prefix, or a key that belongs to no shard.
        command: its bytes. Sending it twice must be safe.

    """

    tag: str
    command: bytes

    @classmethod
    def of(cls, tag: str, *command: str | bytes | int) -> PackedCommand:
        """Pack a command that is given in words."""
        return cls(tag, hiredis.pack_command(command))  # type: ignore[arg-type] # its stub takes one element
