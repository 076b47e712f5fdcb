"""The names of the store's keys, and the assignment of uploads to shards. Without IO.

The keys of a shard share the hash tag ``{shard}``, so that a cluster stores them in one slot. The
shard depends only on the upload id.

==========================================  ======================================================
``hearsay:store``                           hash, the facts: schema, shards, grace, copies, name,
                                            whether shards have the name, the app, imports;
                                            written at first use
``hearsay:editions``                        hash: METRIC:EDITION -> the question's own edition, for
                                            all editions that were ever served (see strata)
``{shard}:name``                            the store's name; the shard belongs to the store
``{shard}:seen:END:PATH``                   sorted set, a bucket: raw upload ids, each with its
                                            counted reports (see count_script)
``{shard}:tally:METRIC:EDITION:WINDOW``     signed 64-bit counters, big-endian, one per symbol
``{shard}:tallies``                         hash: METRIC:EDITION:WINDOW -> number of symbols
``{shard}:windows``                         set: names of windows with a tally
``{shard}:closed``                          set: names of closed windows
``{shard}:going``                           set: names of tallies that are being retired
``{shard}:duplicates``                      integer: how often an upload was sent again
``{shard}:never``                           never exists; a write to it tests the shard
``{shard}:read``                            empty: written after a read, to wait for replicas
``{shard}:check``                           empty: written by a check, and then removed
``{shard}:quota:NAME:END``                  integer: reports charged to an allowance until END;
                                            expires a day later
``{0}:look``                                JSON: the last snapshot of open windows and its time
==========================================  ===============================================
No key contains an address or an arrival time. The order of uploads is visible only in the depth at
which an id is stored in its tree of buckets.
"""

from __future__ import annotations

STORE = "hearsay:store"
EDITIONS = "hearsay:editions"
SNAPSHOT = "{0}:look"

NAME = "name"
IDS = "seen"
TALLIES = "tallies"
WINDOWS = "windows"
CLOSED = "closed"
GOING = "going"
NEVER = "never"
READ = "read"
CHECK = "check"


def shard_of(upload_id: str, shards: int) -> int:
    """Return the shard of an upload, which is determined by the last 32 bits of its id."""
    return int(upload_id[-8:], 16) % shards


def prefix(shard: int) -> str:
    """Return the prefix of all keys of a shard.

    The prefix itself must never be a key (see count_script).
    """
    return f"{{{shard}}}:"


def of_shard(shard: int, name: str) -> str:
    """Return a shard's key with a given name, such as TALLIES."""
    return f"{{{shard}}}:{name}"


def tally(shard: int, name: str) -> str:
    """Return the key of a shard's part of the tally METRIC:EDITION:WINDOW."""
    return f"{{{shard}}}:tally:{name}"
