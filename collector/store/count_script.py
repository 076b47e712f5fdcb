"""The script that counts an upload in one atomic step.

If the store remembers the upload's id, the script counts nothing. Otherwise, the script adds the
accepted reports to their tallies and stores the id. Either both happen, or neither.

If no report of an upload is accepted, the store keeps nothing of the upload. An id expires a day
after the last window of the counted reports has closed.

Next to the id, the script stores which reports were counted, but not why the others were refused.
If the upload is sent again, the collector determines the reasons again.

The ids are stored in *buckets*, sorted sets of limited size. All buckets of windows with the same
end form a tree, which comments in the script explain.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from hashlib import sha1
from math import ceil
from typing import NamedTuple

from client_sdk.protocol.wire.report import MAX_REPORTS
from client_sdk.protocol.wire.verdict import Refusal, Verdict
from collector.errors import QuotaExceededError
from collector.judge import Judgement
from collector.redis_servers.connection import PackedCommand
from collector.store import keys
from collector.store.store_protocol import CountedUpload

BITMAP_BYTES = MAX_REPORTS // 8

MOST_BYTES = 1 + BITMAP_BYTES
"""The maximum number of bytes that are stored next to an id.

An id and these bytes form an entry. With entries of over 64 bytes, a bucket would need four times
as much memory.
"""

UNKNOWN = "not a record of an upload"


class Remembered(NamedTuple):
    """The store's record of an upload with at least one counted report.

    Attributes:
        reports: the number of the upload's reports.
        counted: the indexes, within the upload, of the reports that were counted.
    """

    reports: int
    counted: Collection[int]


def pack(reports: int, counted: Sequence[int]) -> bytes:
    """Return the bytes that record which reports of an upload were counted.

    The first byte is the number of reports (1 to 256) minus one. If all reports were counted, no
    bytes follow. Otherwise, the indexes of the counted reports follow, one by one or as a bitmap.
    The shorter form is used. For instance, if reports 0 and 2 of three reports were counted, the
    bytes are 2, 0 and 2.

    The indexes in ``counted`` must be in ascending order. At least one report must be counted.
    """
    head = bytes((reports - 1,))
    if len(counted) == reports:
        return head
    if len(counted) >= BITMAP_BYTES:
        return head + sum(1 << index for index in counted).to_bytes(BITMAP_BYTES, "little")
    return head + bytes(counted)


def unpack(packed: bytes) -> Remembered:
    """Parse the bytes that `pack` returned.

    Raises:
        ValueError: if `pack` could not have returned these bytes.
    """
    reports, rest = packed[0] + 1, packed[1:]
    return Remembered(reports, _counted(reports, rest) if rest else range(reports))


def _counted(reports: int, rest: bytes) -> frozenset[int]:
    if len(rest) == BITMAP_BYTES:
        bits = int.from_bytes(rest, "little")
        counted = frozenset(index for index in range(MAX_REPORTS) if bits >> index & 1)
    elif len(rest) < BITMAP_BYTES:
        counted = frozenset(rest)
    else:
        raise ValueError(UNKNOWN)
    if max(counted, default=0) >= reports:
        raise ValueError(UNKNOWN)
    return counted


BUCKET_ENTRIES = 128
"""The maximum number of entries in a bucket, except on the lowest level of the tree.

Up to this size, the server stores a sorted set compactly, in 22 to 25 bytes per entry. In a larger
set, each entry would need four times as much memory.
"""

BUCKET_LEVELS = 8
"""The number of levels below the root of the tree of buckets.

Every bucket can have eight buckets on the next level. The lowest level has space for 128 * 8**8
ids, about two billion.
"""

ID_BYTES = 16

QUOTA_KEPT_S = 86_400
"""How many seconds the store keeps a day's count of reports after the end of this day.

The count is compared with the allowance of a key. The store's clock may be almost a day ahead of
the collector's.
"""

FIRST_ADDITION = 11
"""The index (from 1) of the first tally in the script's ARGV."""

ARGUMENTS_AN_ADDITION = 3

NOT_THE_STORE = "a shard does not belong to the store that this collector started with"
"""The script's error for a shard that lacks the store's name. The shard was emptied or replaced."""

COUNTED, DUPLICATE, OVER_QUOTA, LATE = b"cdql"
"""The first byte of the script's response.

* COUNTED: every accepted report was counted.
* DUPLICATE: the upload was counted before. The bytes that `pack` returned then follow.
* OVER_QUOTA: the upload would exceed the allowance of its key. Nothing was counted.
* LATE: windows of the upload were closed early. Nothing was counted, and the names of these windows
  follow.
"""

COUNTABLE_NOW = Refusal.UNKNOWN_EDITION
"""The reason to refuse a report that was refused before, but would be accepted now.

For instance, the registry now defines the report's edition. The upload's id is remembered, so
sending the same upload again does not count the report. This reason makes the device send the
report again in a new upload.
"""

PATH = f"""
-- Returns the path of an id through the tree of buckets: one octal digit for each level below the
-- root, from a hash of the store's name and the id. Senders choose upload ids, but do not know the
-- store's name. Therefore nobody can choose many ids with the same path, or ids that create many
-- nearly empty buckets.
local function path_of(name, id)
  return string.format('%0{BUCKET_LEVELS}o', tonumber(string.sub(redis.sha1hex(name .. id), 1, 6), 16))
end
"""

COUNT_UPLOAD = f"""
-- KEYS[1]: the prefix of the shard's keys (no key has this name).
-- KEYS[2]: the key that contains the name of the store to which the shard belongs.
-- While a cluster moves a slot to another server, key by key, the servers refuse a script (TRYAGAIN)
-- if one of its KEYS is missing. KEYS[1] is always missing. Therefore no upload is counted while
-- some of the remembered ids are on one server and some on the other.
--
-- Times are in Unix seconds. If no report is accepted, the id is not stored.
-- ARGV[1]: the store's name.
-- ARGV[2]: the upload id, 16 bytes.
-- ARGV[3]: the bytes to store next to the id (see `pack`); empty if no report is accepted.
-- ARGV[4]: the ends of the windows under which the id may already be stored, the latest first, with
--   spaces in between.
-- ARGV[5]: the end of the window under which to store the id; 0 if no report is accepted.
-- ARGV[6]: the time when the id expires; 0 if no report is accepted.
-- ARGV[7]: the name of the allowance; empty if there is no allowance, as are the next three.
-- ARGV[8]: the time when the allowance ends.
-- ARGV[9]: the number of reports that the allowance permits in this shard.
-- ARGV[10]: the number of reports to charge to the allowance.
-- Further ARGV: three for each tally that gets reports: the tally's name, its number of symbols, and
--   the symbol of each report by the report's index in the upload, such as {{0: 3, 4: 1}}.
local shard = KEYS[1]
local name, id, remembered, ends, place, expiry, allowance, allowance_end, allowed, charge =
  unpack(ARGV, 1, {FIRST_ADDITION - 1})
{PATH}
-- A shard without the store's name was emptied or replaced. It has lost its tallies and its ids, so
-- it must not count anything until an operator accepts this loss.
if redis.call('GET', KEYS[2]) ~= name then
  return redis.error_reply('{NOT_THE_STORE}: nothing was counted')
end

local is_closed, closed = {{}}, {{}}  -- looked up once for each window, because many tallies share a window
for i = {FIRST_ADDITION}, #ARGV, {ARGUMENTS_AN_ADDITION} do
  local window = string.match(ARGV[i], '.*:(.*)')
  if is_closed[window] == nil then
    is_closed[window] = redis.call('SISMEMBER', shard .. '{keys.CLOSED}', window) == 1
    if is_closed[window] then table.insert(closed, window) end
  end
end
-- the collector then refuses the reports for these windows, and calls the script again
if #closed > 0 then return '{chr(LATE)}' .. table.concat(closed, ' ') end

-- Look for the id under each window. A bucket contains ids until it is full; further ids go to one
-- of the eight buckets below it, which their path selects. Therefore no bucket grows too large, and
-- few buckets are nearly empty, whether there are a hundred ids or a billion. A member of a bucket
-- is an id, followed by the bytes that are stored next to it. The members are sorted by their bytes;
-- a hash would store them in their order of arrival.
local path, bucket, level
for latest in string.gmatch(ends, '%d+') do
  local base = shard .. '{keys.IDS}:' .. latest .. ':'
  local there, depth = base, 0
  while true do
    local member = redis.call('ZRANGEBYLEX', there, '[' .. id, '+', 'LIMIT', 0, 1)[1]
    if member and string.sub(member, 1, {ID_BYTES}) == id then
      -- The collector waits until replicas have this write. They then also have the earlier write that
      -- counted the upload.
      redis.call('INCR', shard .. 'duplicates')
      return '{chr(DUPLICATE)}' .. string.sub(member, {ID_BYTES + 1})
    end
    if depth == {BUCKET_LEVELS} or redis.call('ZCARD', there) < {BUCKET_ENTRIES} then break end
    path = path or path_of(name, id)
    depth = depth + 1
    there = base .. string.sub(path, 1, depth)
  end
  if latest == place then bucket, level = there, depth end
end
if place == '0' then return '{chr(COUNTED)}' end

-- If the server's clock were days ahead of the collector's, the id would expire immediately, and the
-- upload could be counted again.
if tonumber(expiry) <= tonumber(redis.call('TIME')[1]) then
  return redis.error_reply('the clocks of store and collector are days apart: nothing was counted')
end

if allowance ~= '' then
  local quota = shard .. 'quota:' .. allowance .. ':' .. allowance_end
  if (redis.call('GET', quota) or 0) + charge > tonumber(allowed) then return '{chr(OVER_QUOTA)}' end
  redis.call('INCRBY', quota, charge)
  redis.call('EXPIREAT', quota, allowance_end + {QUOTA_KEPT_S})  -- the server's clock may be hours ahead
end

for i = {FIRST_ADDITION}, #ARGV, {ARGUMENTS_AN_ADDITION} do
  local tally, symbols, reported = unpack(ARGV, i, i + {ARGUMENTS_AN_ADDITION - 1})
  local key = shard .. 'tally:' .. tally
  for symbol in string.gmatch(reported, ': (%d+)') do
    if redis.call('BITFIELD', key, 'INCRBY', 'i64', '#' .. symbol, 1)[1] == 1 then
      redis.call('HSET', shard .. '{keys.TALLIES}', tally, symbols)
      redis.call('SADD', shard .. '{keys.WINDOWS}', string.match(tally, '.*:(.*)'))
    end
  end
end

redis.call('ZADD', bucket, 0, id .. remembered)
-- A search for an id ends at a bucket that is missing or not full. Therefore a bucket must not expire
-- before the buckets below it: every bucket on the path gets an expiry that is at least as late.
for above = 0, level do
  local key = shard .. '{keys.IDS}:' .. place .. ':' .. string.sub(path or '', 1, above)
  redis.call('EXPIREAT', key, expiry, 'NX')
  redis.call('EXPIREAT', key, expiry, 'GT')
end
return '{chr(COUNTED)}'
"""

COUNT_UPLOAD_SHA = sha1(COUNT_UPLOAD.encode()).hexdigest()  # noqa: S324 the protocol names scripts by SHA-1


def count_command(judgement: Judgement, shards: int, name: str) -> PackedCommand:
    """Return the command that counts an upload in its shard.

    If the shard does not have the store's name, the response is the error NOT_THE_STORE.
    """
    number = keys.shard_of(judgement.upload, shards)
    shard, arguments = keys.prefix(number), count_arguments(judgement, shards, name)
    return PackedCommand.packed(
        shard, "EVALSHA", COUNT_UPLOAD_SHA, 2, shard, keys.of_shard(number, keys.NAME), *arguments
    )


def count_arguments(judgement: Judgement, shards: int, name: str) -> list[bytes | str | int]:
    """Return the ARGV with which the script counts an upload (see `count_command`)."""
    arguments: list[bytes | str | int] = [
        name,
        bytes.fromhex(judgement.upload),
        _remembered(judgement),
        " ".join(map(str, judgement.ends)),
        judgement.latest_end,
        judgement.remember_until,
        *_allowance(judgement, shards),
    ]
    for (tally, symbols), reported in judgement.additions.items():
        arguments += (tally, symbols, str(reported))
    return arguments


def read_answer(answer: bytes, judgement: Judgement) -> CountedUpload | QuotaExceededError | frozenset[str]:
    """Parse the script's response.

    Returns:
        The outcome of the upload; or, if nothing was counted because windows of the upload were
        closed early, the names of these windows.
    """
    if answer[0] == OVER_QUOTA:
        return QuotaExceededError("the upload would exceed the allowance of the day; none of its reports was counted")
    if answer[0] == LATE:
        return frozenset(answer[1:].decode().split(" "))
    if answer[0] == DUPLICATE:
        return CountedUpload(verdict_again(judgement, *unpack(answer[1:])), is_duplicate=True)
    return CountedUpload(Verdict(judgement.reports, judgement.refused), is_duplicate=False)


def verdict_again(judgement: Judgement, reports: int, counted: Collection[int]) -> Verdict:
    """Return the verdict on an upload that was already counted.

    ``judgement`` is the current judgement of the upload. ``reports`` and ``counted`` describe the
    upload when it was counted.
    """
    refused = dict(judgement.refused)
    return Verdict(
        reports, tuple((index, refused.get(index, COUNTABLE_NOW)) for index in range(reports) if index not in counted)
    )


def _remembered(judgement: Judgement) -> bytes:
    """Return the bytes to store next to the id, or no bytes if no report is accepted."""
    if not judgement.additions:
        return b""
    refused = {index for index, _ in judgement.refused}
    return pack(judgement.reports, [index for index in range(judgement.reports) if index not in refused])


def _allowance(judgement: Judgement, shards: int) -> tuple[str | int, ...]:
    """Return the four arguments of the script that describe the allowance.

    Each shard gets an equal part of the allowance. A whole upload is charged to a single shard.
    Therefore the part is at least MAX_REPORTS, unless the whole allowance is smaller. For instance,
    if 64 shards share an allowance of 6,400 reports, each shard permits 256 reports instead of 100.
    """
    allowance = judgement.allowance
    if allowance is None:
        return "", "", "", ""
    allowed = max(ceil(allowance.limit / shards), min(allowance.limit, MAX_REPORTS))
    return allowance.name, allowance.expires_at, allowed, judgement.reports - len(judgement.refused)
