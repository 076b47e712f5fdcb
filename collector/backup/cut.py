"""What an export reads from a store."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from collector.backup.lines import Bucket

BucketState: TypeAlias = tuple[int, int]
"""When a bucket expires, and how many uploads it holds.

Uploads are only added, so this shows every change.
"""


class StoreProperties(NamedTuple):
    """The properties of a store.

    Attributes:
        schema: the store's schema.
        shards: how many shards it has.
        grace_s: seconds after its end during which a window takes reports, or None if the store has
            never served.

    """

    schema: int
    shards: int
    grace_s: int | None


class StoredBucket(NamedTuple):
    """A bucket of remembered uploads as it was read.

    Attributes:
        key: its key in the store.
        bucket: its contents.

    """

    key: bytes
    bucket: Bucket

    @property
    def state(self) -> BucketState:
        """The state by which a change is noticed."""
        return self.bucket.expires_at, len(self.bucket.members)


@dataclass(frozen=True, slots=True)
class ShardCut:
    """A shard at one instant.

    Attributes:
        changed: the buckets that are new, or have changed, since they were read.
        closed: names of the windows that are closed in the shard.
        index: number of symbols of each tally that has a part in the shard, by the tally's name.
        open_counts: the shard's part of each tally whose window is open, by the tally's name.

    """

    changed: tuple[StoredBucket, ...]
    closed: frozenset[str]
    index: Mapping[str, int]
    open_counts: Mapping[str, tuple[int, ...]]
