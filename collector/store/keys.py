"""The names of the store's keys, and the assignment of uploads to shards. This module does no IO.

The keys of a shard begin with the shard's number in braces, such as ``{3}``. A cluster computes the
slot of a key from the part in braces. Therefore all keys of a shard are on the same server.

==========================================  ======================================================
``hearsay:store``                           hash, the facts: schema, shards, grace, copies, name,
                                            whether shards have the name, the app, imports
``hearsay:editions``                        hash: METRIC:EDITION -> the metric's own edition, for
                                            all editions that collectors on this store have ever
                                            accepted (see strata)
``{shard}:name``                            the name of the store to which the shard belongs
``{shard}:seen:END:PATH``                   sorted set, a bucket: raw upload ids, each followed by
                                            a record of its counted reports (see count_script);
                                            END is the end of a window in Unix seconds, and PATH
                                            is the bucket's path in its tree
``{shard}:tally:METRIC:EDITION:WINDOW``     signed 64-bit counters, big-endian, one per symbol
``{shard}:tallies``                         hash: METRIC:EDITION:WINDOW -> number of symbols
``{shard}:windows``                         set: names of windows with a tally
``{shard}:closed``                          set: names of closed windows
``{shard}:going``                           set: names of tallies that are being retired
``{shard}:duplicates``                      integer: how often uploads were sent again
``{shard}:never``                           never exists: SET with XX tests whether the shard
                                            accepts writes
``{shard}:read``                            empty text: written after a read (see Shards.confirm)
``{shard}:check``                           empty text: written by a check, and then removed
``{shard}:quota:NAME:END``                  integer: the number of reports charged to the allowance
                                            NAME on the day that ends at END (Unix seconds);
                                            expires a day after END
``{0}:look``                                JSON: the last snapshot of open windows and its time
==========================================  ======================================================

No key contains an address or an arrival time. Ids in a bucket arrived later than ids in the buckets
above it. Nothing else hints at the order of arrival.
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
    """Return the shard of an upload. The last 32 bits of the upload's id determine the shard."""
    return int(upload_id[-8:], 16) % shards


def prefix(shard: int) -> str:
    """Return the prefix of all keys of a shard. No key consists of only the prefix."""
    return f"{{{shard}}}:"


def of_shard(shard: int, name: str) -> str:
    """Return a shard's key with a given name, such as TALLIES."""
    return f"{{{shard}}}:{name}"


def tally(shard: int, name: str) -> str:
    """Return the key of a shard's part of the tally METRIC:EDITION:WINDOW."""
    return f"{{{shard}}}:tally:{name}"
