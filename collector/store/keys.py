"""The names of the store's keys, and which shard an upload belongs to. Pure.

Keys of a shard share the hash tag ``{shard}``, so that a cluster keeps them on one slot; the shard is a function of the
upload id.

==========================================  =======================================================================
``hearsay:store``                           hash: schema version, shards, grace, a random name, whether shards bear it,
                                            the app's name, imports; from first use
``hearsay:upgrading``                       there while an upgrade of the schema runs
``{shard}:name``                            the store's name, by which a shard is known to be one of the store
``{shard}:seen:END:PATH``                   sorted set: raw upload id, and which reports were counted; a bucket (see
                                            count_upload)
``{shard}:tally:METRIC:EDITION:WINDOW``     packed signed 64-bit counters, big-endian, one a symbol
``{shard}:tallies``                         hash: METRIC:EDITION:WINDOW -> number of symbols
``{shard}:windows``                         set: names of windows with a tally
``{shard}:closed``                          set: names of closed windows
``{shard}:going``                           set: names of tallies that are being retired
``{shard}:duplicates``                      integer: how often an upload came again
``{shard}:never``                           nothing: it is never there
``{shard}:read``                            empty: written when something was read, for its servers' replicas to have
``{shard}:quota:NAME:END``                  integer: reports that were charged to an allowance; expires at END
``{0}:look``                                JSON: the last look at open windows, and when it was taken
==========================================  =======================================================================

Nothing holds an address, a receive time or an order (but for how deep in the tree of buckets an id lies).
"""

from __future__ import annotations

STORE = "hearsay:store"
UPGRADING = "hearsay:upgrading"
SNAPSHOT = "{0}:look"

NAME = "name"
IDS, IDS_OF_SCHEMA_1 = "seen", "ids"
TALLIES = "tallies"
WINDOWS = "windows"
CLOSED = "closed"
GOING = "going"
NEVER = "never"
READ = "read"


def shard_of(upload_id: str, shards: int) -> int:
    """Return the shard of an upload: its last 32 bits."""
    return int(upload_id[-8:], 16) % shards


def prefix(shard: int) -> str:
    """Return what all keys of a shard begin with; it is no key itself, and must never be (see count_upload)."""
    return f"{{{shard}}}:"


def of_shard(shard: int, name: str) -> str:
    """Return the name of a shard's key, such as TALLIES."""
    return f"{{{shard}}}:{name}"


def tally(shard: int, name: str) -> str:
    """Return the key of a shard's part of the tally METRIC:EDITION:WINDOW."""
    return f"{{{shard}}}:tally:{name}"
