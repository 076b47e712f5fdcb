"""What a backup needs of a store: the port; `redis_archive` is its adapter."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from collector.backup.format import Bucket, Counts

State = tuple[int, int]
"""Of a bucket: when it expires, and how many uploads it holds. Uploads are only ever added, so that it tells."""


class Facts(NamedTuple):
    """What a store says of itself.

    Attributes:
        schema: its schema.
        shards: how many shards it has.
        grace_s: seconds after its end during which a window takes reports; none if it never served.

    """

    schema: int
    shards: int
    grace_s: int | None


class Found(NamedTuple):
    """A bucket as it was read.

    Attributes:
        key: what the store calls it.
        bucket: what was in it.

    """

    key: bytes
    bucket: Bucket

    @property
    def state(self) -> State:
        """By which it is known whether it has changed."""
        return self.bucket.expires_at, len(self.bucket.members)


@dataclass(frozen=True, slots=True)
class Cut:
    """A shard at one instant.

    Attributes:
        changed: the buckets that are new, or have changed, since they were read.
        closed: the windows that are closed in it.
        index: name and number of symbols of each tally that it has a part of.
        open_counts: its part of each tally of a window that is not closed in it.

    """

    changed: tuple[Found, ...]
    closed: frozenset[str]
    index: Mapping[str, int]
    open_counts: Mapping[str, tuple[int, ...]]


class Source(Protocol):
    """A store that is read; every method raises StoreUnavailableError where it does not answer."""

    def facts(self) -> Facts:
        """Return what the store says of itself."""

    def standing(self) -> str:
        """Return what changes when a server starts anew or another takes its place: it may then have lost uploads.

        Raises:
            ConfigError: if shards are on their way from one server to another.

        """

    def buckets(self, shard: int) -> Iterator[Found]:
        """Yield the buckets of a shard, while uploads are counted: each as it is when it is read."""

    def cut(self, shard: int, known: Mapping[bytes, State]) -> Cut:
        """Return a shard at one instant, but for the buckets that are in a known state.

        It is one step on the server, which counts nothing meanwhile: so what was read before must not be in it.
        """

    def counts(self, shard: int, name: str, symbols: int) -> tuple[int, ...]:
        """Return a shard's part of a tally."""

    def is_indexed(self, name: str) -> bool:
        """Whether a tally is there, and was whole when it was read just before."""


class Target(Protocol):
    """A store that is filled; every method raises StoreUnavailableError where it does not answer.

    Every step can be done again, and then changes nothing.
    """

    def begin(self, digest: str) -> bool:
        """Begin, or go on with, the import of a backup; return false if the store has the whole of it already.

        Until it is finished, the store refuses to be served.

        Raises:
            ConfigError: if the store holds anything else.

        """

    def remember(self, buckets: Iterable[Bucket]) -> None:
        """Remember uploads, each in its shard, unless it is remembered already."""

    def close_all(self, windows: Iterable[str]) -> None:
        """Close windows in every shard."""

    def put(self, tally: Counts) -> None:
        """Keep a tally.

        Raises:
            ConfigError: if there is another one of its name: a collector counts in the store.

        """

    def finish(self, digest: str, grace_s: int | None, tallies: Collection[str]) -> None:
        """End the import: the store may be served.

        Raises:
            ConfigError: if it holds more than the named tallies: a collector has counted meanwhile, and may have
                counted uploads of the backup that were not remembered yet.

        """
