"""The lines of a backup, as data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from client_sdk.protocol.errors import HearsayError
from collector.store.store_protocol import OwnEditions


class BackupError(HearsayError):
    """A backup that cannot be used. The text says which line is wrong, and why."""


class Header(NamedTuple):
    """The first line: the properties of the store.

    Attributes:
        schema: the store's schema.
        shards: how many shards it had.
        grace_s: seconds after its end during which a window took reports, or None if the store has
            never served.
        app: the app's name, or None if it was unknown.

    """

    schema: int
    shards: int
    grace_s: int | None
    app: str | None


class Bucket(NamedTuple):
    """Remembered uploads.

    Attributes:
        latest_end: Unix seconds of the end of the window under which the uploads are remembered.
        expires_at: Unix seconds until which they are remembered.
        members: for each upload its id (16 bytes) and which of its reports were counted (see
            `collector.store.packed_verdict`).

    """

    latest_end: int
    expires_at: int
    members: tuple[bytes, ...]


class ClosedWindows(NamedTuple):
    """The names of all closed windows, including those whose tallies were retired."""

    windows: tuple[str, ...]


class Editions(NamedTuple):
    """The editions that the store remembers, so that small strata stay folded in a restored one.

    Attributes:
        own: each question's own edition, as `collector.store.store_protocol` defines it.

    """

    own: OwnEditions


class TallyLine(NamedTuple):
    """A tally, summed over all shards.

    Attributes:
        metric: the metric's name.
        edition: the edition of the metric.
        window: the window's name.
        symbols: the number of symbols of the alphabet.
        counts: how often each symbol was reported, without zeros. So memory depends on what a line
            holds, not on the alphabet that it claims.

    """

    metric: str
    edition: str
    window: str
    symbols: int
    counts: Mapping[int, int]

    @property
    def name(self) -> str:
        """The tally's name in the store."""
        return f"{self.metric}:{self.edition}:{self.window}"


class End(NamedTuple):
    """The last line. A file without it was cut.

    Attributes:
        lines: how many lines stand before it.
        sha256: hex digest of their bytes.

    """

    lines: int
    sha256: str


BackupLine: TypeAlias = Header | Bucket | ClosedWindows | Editions | TallyLine | End
