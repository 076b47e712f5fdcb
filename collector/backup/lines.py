"""The lines of a backup. msgspec writes each line as JSON, with a tag for its kind.

Lines are parsed strictly. Change FORMAT if the meaning of a line changes.
"""

from __future__ import annotations

from typing import Annotated, Final, TypeAlias

import msgspec
from msgspec import Meta, Struct

from client_sdk.protocol.errors import HearsayError, WindowError
from client_sdk.protocol.mechanisms.designs import MAX_GEOMETRY_SYMBOLS
from client_sdk.protocol.window import Window
from client_sdk.protocol.wire.report import EDITION, METRIC_NAME
from collector.store.count_script import MOST_BYTES, unpack

FORMAT: Final = 1

ID_BYTES: Final = 16

MOST_SYMBOLS: Final = MAX_GEOMETRY_SYMBOLS
"""The maximum number of symbols of any channel."""

MOST_SHARDS: Final = 2**14
"""The maximum number of shards. A Redis cluster has this many slots."""

MAX_COUNT: Final = 2**63 - 1
"""The largest value of a counter in the store."""

LATEST_S: Final = 2**38
"""The latest time that a backup may contain (Unix seconds). It is after the year 9999."""

LONGEST_LINE: Final = 32 * MOST_SYMBOLS
"""The maximum length of a line in bytes.

The longest line is that of a tally. For each symbol, it contains the symbol (up to 8 digits) and
the symbol's count (up to 19 digits).
"""

_OWN_EDITION: Final = rf"\A{METRIC_NAME.pattern}:{EDITION.pattern}\Z"

WholeNumber: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_COUNT)]
Instant: TypeAlias = Annotated[int, Meta(ge=0, le=LATEST_S)]
EditionText: TypeAlias = Annotated[str, Meta(pattern=rf"\A{EDITION.pattern}\Z")]


class BackupError(HearsayError):
    """A backup cannot be used. The message gives the reason and, if a line is wrong, its number."""


class LineError(ValueError):
    """One line of a backup cannot be used. The message gives the reason."""


class Header(Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="header"):
    """The first line, which contains the properties of the store.

    Attributes:
        grace_s: how long a window accepted reports after its end (seconds). None if this time is
            unknown.
        app: the app's name. None if the name is unknown.
    """

    schema: WholeNumber
    shards: Annotated[int, Meta(ge=1, le=MOST_SHARDS)]
    grace_s: WholeNumber | None
    app: str | None
    format: int = FORMAT

    def __post_init__(self) -> None:
        if self.format != FORMAT:
            raise ValueError(OTHER_FORMAT)


class Bucket(Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="uploads"):
    """A *bucket*: a group of remembered uploads that the store keeps together.

    The store remembers an upload's id, so that the upload is counted only once.

    Attributes:
        latest_end: the end (Unix seconds) of each upload's latest window with a counted report. All
            uploads of the bucket have the same value.
        expires_at: the time (Unix seconds) at which the ids expire.
        members: for each upload, the id (16 bytes) and the record of its counted reports (see
            `pack` in `collector.store.count_script`).
    """

    latest_end: Instant
    expires_at: Instant
    members: tuple[Annotated[bytes, Meta(min_length=ID_BYTES + 1, max_length=ID_BYTES + MOST_BYTES)], ...]

    def __post_init__(self) -> None:
        for member in self.members:
            unpack(member[ID_BYTES:])


class ClosedWindows(Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="closed"):
    """The names of all closed windows.

    The tallies of a closed window may have been retired (deleted).
    """

    windows: tuple[str, ...]

    def __post_init__(self) -> None:
        for window in self.windows:
            _require_window(window)


class Editions(Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="editions"):
    """All editions that the store's collectors have ever accepted.

    Merging small strata requires this record (see `collector.store.strata`).

    Attributes:
        own: maps each edition to its metric's own edition (see `OwnEditions` in
            `collector.store.store_protocol`).
    """

    own: dict[Annotated[str, Meta(pattern=_OWN_EDITION)], EditionText]


class TallyLine(Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="tally"):
    """A tally, summed over all shards.

    Attributes:
        symbols: the number of possible symbols.
        counts: for each reported symbol, the number of its reports. Zeros are left out, so that a
            line needs little memory.
    """

    metric: Annotated[str, Meta(pattern=rf"\A{METRIC_NAME.pattern}\Z")]
    edition: EditionText
    window: str
    symbols: Annotated[int, Meta(ge=1, le=MOST_SYMBOLS)]
    counts: dict[WholeNumber, Annotated[int, Meta(ge=1, le=MAX_COUNT)]]

    def __post_init__(self) -> None:
        _require_window(self.window)
        if max(self.counts, default=0) >= self.symbols:
            raise ValueError("counts contains a symbol outside the alphabet")

    @property
    def name(self) -> str:
        """The tally's name in the store."""
        return f"{self.metric}:{self.edition}:{self.window}"


class End(Struct, frozen=True, forbid_unknown_fields=True, tag_field="line", tag="end"):
    """The last line, with the number of earlier lines and their SHA-256 digest.

    A file without this line was truncated.
    """

    lines: WholeNumber
    sha256: Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]


BackupLine: TypeAlias = Header | Bucket | ClosedWindows | Editions | TallyLine | End

OTHER_FORMAT: Final = f"does not have format {FORMAT}; use the version of Hearsay that wrote it, or a later one"


class _OfAnyFormat(Struct, tag_field="line", tag="header"):
    """The fields that the headers of all formats have in common."""

    format: int


_DECODER: Final[msgspec.json.Decoder[BackupLine]] = msgspec.json.Decoder(BackupLine)
_ENCODER: Final = msgspec.json.Encoder()


def encode(line: BackupLine) -> bytes:
    """Return a line as bytes, with a line break at the end."""
    return _ENCODER.encode(line) + b"\n"


def decode(raw: bytes) -> BackupLine:
    """Parse a line, or raise a LineError."""
    try:
        return _DECODER.decode(raw)
    except msgspec.ValidationError as error:
        raise LineError(OTHER_FORMAT if _is_of_another_format(raw) else f"is damaged: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise LineError("is not JSON, or is incomplete") from None


def _is_of_another_format(raw: bytes) -> bool:
    try:
        return msgspec.json.decode(raw, type=_OfAnyFormat).format != FORMAT
    except (msgspec.DecodeError, UnicodeDecodeError):
        return False


def _require_window(text: str) -> None:
    try:
        Window.parse(text)
    except WindowError:
        raise ValueError("names a window that does not exist") from None
