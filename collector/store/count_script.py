"""The script that counts an upload in one atomic step.

The script looks up the upload id. If the id is new, it counts the reports and remembers the id, or
does neither.

An id is remembered only if a report is counted, and only while a window of the counted reports can
be open. Therefore an upload that adds nothing to a tally adds nothing to the stored data.

With the id, the script remembers which reports were counted. This takes one byte if all reports
were counted, and otherwise at most MOST_BYTES. The reasons why other reports were refused are not
stored, but determined again.
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
"""The maximum bytes that are remembered with an id.

An entry, which consists of the id and these bytes, is shorter than 64 bytes. With longer entries, a
bucket would need four times as much memory (see BUCKET_ENTRIES).
"""

UNKNOWN = "not a record of an upload"


class Remembered(NamedTuple):
    """What the store remembers about an upload if one of its reports was counted.

    Attributes:
        reports: the number of the upload's reports.
        counted: indexes of the reports that were counted.

    """

    reports: int
    counted: Collection[int]


def pack(reports: int, counted: Sequence[int]) -> bytes:
    """Return the bytes that record which reports of an upload were counted.

    The first byte is the number of reports minus one. If all reports were counted, no bytes follow.
    Otherwise, either the indexes of the counted reports follow or a bitmap of these indexes,
    whichever is shorter.

    Args:
        reports: the number of reports in the upload, from 1 to 256.
        counted: indexes of the reports that were counted, in ascending order; at least one index.

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
"""The maximum number of entries in a small sorted set, which needs 22 to 25 bytes per entry.

In a larger set, each entry would need four times as much memory.
"""

BUCKET_LEVELS = 8
"""The number of levels in the tree of buckets.

Every bucket has 8 branches. The tree has space for 128 * 8**8 = 2 * 10**9 ids before a bucket grows
too large.
"""

ID_BYTES = 16

QUOTA_KEPT_S = 86_400
"""How many seconds after the end of its day a charged allowance is stored.

The store's clock may be less than a day ahead of the collector's.
"""

FIRST_ADDITION = 11
"""The index, in the script's arguments, of the first tally that gets reports."""

ARGUMENTS_AN_ADDITION = 3

NOT_THE_STORE = "a shard does not belong to the store that this collector started with"
"""The script's error for a shard that was emptied, or replaced by another shard."""

COUNTED, DUPLICATE, OVER_QUOTA, LATE = b"cdql"
"""The first byte of the script's response.

After DUPLICATE, the remembered data follows; after LATE, the names of closed windows.
"""

COUNTABLE_NOW = Refusal.UNKNOWN_EDITION
"""The reason for refusing a report of an upload that was already counted without this report.

The report was refused at that time, but would be accepted now, for example under a new registry.
Because the upload's id is remembered, the report must be sent in another upload. This reason makes
a device send it so.
"""

PATH = f"""
-- The path of an id through a tree of buckets: one octal digit for each level. A sender chooses its
-- upload ids, but does not know the store's name. Therefore nobody can send many ids down one path,
-- or create many buckets that are nearly empty.
local function path_of(name, id)
  return string.format('%0{BUCKET_LEVELS}o', tonumber(string.sub(redis.sha1hex(name .. id), 1, 6), 16))
end
"""

COUNT_UPLOAD = f"""
-- KEYS: the shard's prefix, which is not a key itself; the key of the name that the shard carries.
--       While a cluster moves the slot key by key, a script whose keys have not all arrived gets
--       TRYAGAIN. As the first key never exists, no upload is judged while only a part of the
--       remembered ids has arrived.
-- ARGV: the store's name; the upload id; the bytes to remember with the id; the ends of the
--       upload's windows, the latest first; the end under which to store the id, and the time when
--       the id expires (Unix seconds; both are 0 if no report counts, because the id is then not
--       stored); the name, the end (Unix seconds) and the size of the allowance, and the upload's
--       charge, all four empty if there is no allowance; then for each tally that gets reports: its
--       name, its number of symbols, and the symbol of each report by the report's index in the
--       upload, such as {{0: 3, 4: 1}}
local shard = KEYS[1]
local name, id, remembered, ends, place, expiry, allowance, allowance_end, allowed, charge =
  unpack(ARGV, 1, {FIRST_ADDITION - 1})
{PATH}
-- A shard that was lost has forgotten which uploads it counted. It must not start again as an empty
-- shard while anybody relies on its data.
if redis.call('GET', KEYS[2]) ~= name then
  return redis.error_reply('{NOT_THE_STORE}: nothing was counted')
end

local is_closed, closed = {{}}, {{}}  -- an upload has few windows, perhaps with many reports each
for i = {FIRST_ADDITION}, #ARGV, {ARGUMENTS_AN_ADDITION} do
  local window = string.match(ARGV[i], '.*:(.*)')
  if is_closed[window] == nil then
    is_closed[window] = redis.call('SISMEMBER', shard .. '{keys.CLOSED}', window) == 1
    if is_closed[window] then table.insert(closed, window) end
  end
end
-- with these windows, the collector judges the upload again
if #closed > 0 then return '{chr(LATE)}' .. table.concat(closed, ' ') end

-- A full bucket passes ids on to one of eight buckets below it. Therefore no bucket outgrows a small
-- set, and few buckets are nearly empty, whether there are a hundred ids or a billion. A member is
-- an id followed by the bytes to remember with it. Members are sorted by their bytes: a hash would
-- keep their order of arrival.
local path, bucket, level
for latest in string.gmatch(ends, '%d+') do
  local base = shard .. '{keys.IDS}:' .. latest .. ':'
  local there, depth = base, 0
  while true do
    local member = redis.call('ZRANGEBYLEX', there, '[' .. id, '+', 'LIMIT', 0, 1)[1]
    if member and string.sub(member, 1, {ID_BYTES}) == id then
      redis.call('INCR', shard .. 'duplicates')  -- a write, so that a wait for copies covers the first attempt too
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

-- If the server's clock were days ahead of the collector's, the id would expire immediately, and its
-- upload could count again.
if tonumber(expiry) <= tonumber(redis.call('TIME')[1]) then
  return redis.error_reply('the clocks of store and collector are days apart: nothing was counted')
end

if allowance ~= '' then
  local quota = shard .. 'quota:' .. allowance .. ':' .. allowance_end
  if (redis.call('GET', quota) or 0) + charge > tonumber(allowed) then return '{chr(OVER_QUOTA)}' end
  redis.call('INCRBY', quota, charge)
  redis.call('EXPIREAT', quota, allowance_end + {QUOTA_KEPT_S})  -- for a server whose clock is hours ahead
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
-- A bucket must outlive the buckets below it, or the path to them is lost. Therefore all buckets on
-- the path get at least the same expiry.
for above = 0, level do
  local key = shard .. '{keys.IDS}:' .. place .. ':' .. string.sub(path or '', 1, above)
  redis.call('EXPIREAT', key, expiry, 'NX')
  redis.call('EXPIREAT', key, expiry, 'GT')
end
return '{chr(COUNTED)}'
"""

COUNT_UPLOAD_SHA = sha1(COUNT_UPLOAD.encode()).hexdigest()  # noqa: S324 the protocol names scripts by SHA-1


def count_command(judgement: Judgement, shards: int, name: str) -> PackedCommand:
    """Return the command that counts an upload if its shard has the store's name."""
    number = keys.shard_of(judgement.upload, shards)
    shard, arguments = keys.prefix(number), count_arguments(judgement, shards, name)
    return PackedCommand.packed(
        shard, "EVALSHA", COUNT_UPLOAD_SHA, 2, shard, keys.of_shard(number, keys.NAME), *arguments
    )


def count_arguments(judgement: Judgement, shards: int, name: str) -> list[bytes | str | int]:
    """Return the script's ARGV for an upload."""
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
    """Parse the script's response: an outcome, or the names of windows that were closed early."""
    if answer[0] == OVER_QUOTA:
        return QuotaExceededError("the upload would exceed the allowance of the day; none of its reports was counted")
    if answer[0] == LATE:
        return frozenset(answer[1:].decode().split(" "))
    if answer[0] == DUPLICATE:
        return CountedUpload(verdict_again(judgement, *unpack(answer[1:])), is_duplicate=True)
    return CountedUpload(Verdict(judgement.reports, judgement.refused), is_duplicate=False)


def verdict_again(judgement: Judgement, reports: int, counted: Collection[int]) -> Verdict:
    """Return the verdict on an upload that was already counted.

    Args:
        judgement: the current judgement of the upload.
        reports: the number of its reports when it was counted.
        counted: indexes of the reports that were counted.

    """
    refused = dict(judgement.refused)
    return Verdict(
        reports,
        tuple((index, refused.get(index, COUNTABLE_NOW)) for index in range(reports) if index not in counted),
    )


def _remembered(judgement: Judgement) -> bytes:
    """Return the bytes to remember with the id; empty if no report counts."""
    if not judgement.additions:
        return b""
    refused = {index for index, _ in judgement.refused}
    return pack(judgement.reports, [index for index in range(judgement.reports) if index not in refused])


def _allowance(judgement: Judgement, shards: int) -> tuple[str | int, ...]:
    """Return the script's four arguments about the allowance.

    Uploads are distributed evenly over the shards, so each shard gets an equal part of the
    allowance. A whole upload belongs to one shard. This part is always large enough for an upload
    of maximum size if the whole allowance is.
    """
    allowance = judgement.allowance
    if allowance is None:
        return "", "", "", ""
    allowed = max(ceil(allowance.limit / shards), min(allowance.limit, MAX_REPORTS))
    return allowance.name, allowance.expires_at, allowed, judgement.reports - len(judgement.refused)
