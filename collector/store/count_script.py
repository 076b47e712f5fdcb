"""The one atomic step: look an upload id up; if it is new, count the reports and remember the id, or do none of it.

An id is remembered only where something is counted, and for no longer than a window of what was counted can be open: so
what an upload leaves behind is bounded by what it adds to tallies, whatever else it holds.
"""

from __future__ import annotations

from collections.abc import Collection
from hashlib import sha1
from math import ceil

from client_sdk.protocol import MAX_REPORTS, Refusal, Verdict
from collector.errors import QuotaExceededError
from collector.judge import Judgement
from collector.servers.command import Request
from collector.store import keys
from collector.store.packed_verdict import pack, unpack
from collector.store.port import Counted

BUCKET_ENTRIES = 128
"""Entries of a small sorted set: 22 to 25 bytes an upload id; a larger one would cost four times that an entry."""

BUCKET_LEVELS = 8
"""Levels of the tree of buckets, 8 branches each: room for 128 * 8**8 = 2 * 10**9 ids before a bucket outgrows it."""

ID_BYTES = 16

FIRST_ADDITION = 11
"""Index in the script's arguments of what it must know of the first tally that gets reports."""

ARGUMENTS_AN_ADDITION = 3

NOT_THE_STORE = "a shard is not one of the store that this collector began with"
"""What the script says of one that was emptied, or put in the place of another."""

COUNTED, DUPLICATE, OVER_QUOTA, LATE = b"cdql"
"""First byte of the script's answer. What is remembered follows the second, the names of closed windows the last."""

COUNTABLE_NOW = Refusal.UNKNOWN_EDITION
"""Said of a report that was refused when its upload was first counted, and would not be now, such as after a registry
was deployed: its id is remembered, so that it has to come in another upload, and this refusal has a device do that."""

PATH = f"""
-- The way of an id through a tree of buckets, an octal digit a level. Who sends uploads chooses their ids, but does not
-- know the store's name: so nobody can have many ids go one way, or make many buckets that are nearly empty.
local function path_of(name, id)
  return string.format('%0{BUCKET_LEVELS}o', tonumber(string.sub(redis.sha1hex(name .. id), 1, 6), 16))
end
"""

COUNT_UPLOAD = f"""
-- KEYS: the shard's prefix, which itself is no key; the name that it bears. While a cluster moves the slot key by key,
--       a script of which not every key is there is told to try again: as the first never is, no upload is judged by
--       half of what the store remembers
-- ARGV: the store's name; id; what to remember with it; ends of the upload's windows, the latest first; which of them
--       to leave the id under, and until when (Unix seconds; 0: nowhere, for nothing counts); name and expiry (Unix
--       seconds) of the allowance, its size, what the upload is charged; all four empty where there is none; then for
--       each tally that gets reports: its name, its number of symbols, and the symbol of each report by its index in
--       the upload, such as {{0: 3, 4: 1}}
local shard = KEYS[1]
local name, id, remembered, ends, place, expiry, allowance, allowance_expiry, allowed, charge =
  unpack(ARGV, 1, {FIRST_ADDITION - 1})
{PATH}
-- A shard that was lost forgot what it counted: it must not begin anew while somebody counts on what it held.
if redis.call('GET', KEYS[2]) ~= name then
  return redis.error_reply('{NOT_THE_STORE}: nothing was counted')
end

local is_closed, closed = {{}}, {{}}  -- an upload has reports of few windows, and perhaps many of each
for i = {FIRST_ADDITION}, #ARGV, {ARGUMENTS_AN_ADDITION} do
  local window = string.match(ARGV[i], '.*:(.*)')
  if is_closed[window] == nil then
    is_closed[window] = redis.call('SISMEMBER', shard .. '{keys.CLOSED}', window) == 1
    if is_closed[window] then table.insert(closed, window) end
  end
end
if #closed > 0 then return '{chr(LATE)}' .. table.concat(closed, ' ') end  -- to be judged again, by that

-- A bucket that is full hands on to one of eight below it: a bucket's ids are never more than a small set holds, and
-- few buckets are nearly empty, whether there are a hundred ids or a billion. Its members, an id and what is remembered
-- with it, are sorted by their bytes: a hash would keep the order in which they came.
local path, bucket, level
for latest in string.gmatch(ends, '%d+') do
  local base = shard .. '{keys.IDS}:' .. latest .. ':'
  local there, depth = base, 0
  while true do
    local found = redis.call('ZRANGEBYLEX', there, '[' .. id, '+', 'LIMIT', 0, 1)[1]
    if found and string.sub(found, 1, {ID_BYTES}) == id then
      redis.call('INCR', shard .. 'duplicates')  -- a write, for a wait for copies to cover the first attempt by
      return '{chr(DUPLICATE)}' .. string.sub(found, {ID_BYTES + 1})
    end
    if depth == {BUCKET_LEVELS} or redis.call('ZCARD', there) < {BUCKET_ENTRIES} then break end
    path = path or path_of(name, id)
    depth = depth + 1
    there = base .. string.sub(path, 1, depth)
  end
  if latest == place then bucket, level = there, depth end
end
if place == '0' then return '{chr(COUNTED)}' end

-- By a clock that is days ahead of the collector's the id would expire at once, and its upload count again.
if tonumber(expiry) <= tonumber(redis.call('TIME')[1]) then
  return redis.error_reply('the clocks of store and collector are days apart: nothing was counted')
end

if allowance ~= '' then
  local quota = shard .. 'quota:' .. allowance .. ':' .. allowance_expiry
  if (redis.call('GET', quota) or 0) + charge > tonumber(allowed) then return '{chr(OVER_QUOTA)}' end
  redis.call('INCRBY', quota, charge)
  redis.call('EXPIREAT', quota, allowance_expiry)
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
-- A bucket must outlive those below it, or the way down to them is lost: so all on the path live at least as long.
for above = 0, level do
  local key = shard .. '{keys.IDS}:' .. place .. ':' .. string.sub(path or '', 1, above)
  redis.call('EXPIREAT', key, expiry, 'NX')
  redis.call('EXPIREAT', key, expiry, 'GT')
end
return '{chr(COUNTED)}'
"""

COUNT_UPLOAD_SHA = sha1(COUNT_UPLOAD.encode()).hexdigest()  # noqa: S324 the protocol names scripts by SHA-1


def count_request(judgement: Judgement, shards: int, name: str) -> Request:
    """Return the command that counts an upload on its shard, if that bears the store's name."""
    number = keys.shard_of(judgement.upload, shards)
    shard = keys.prefix(number)
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
    return Request.of(shard, "EVALSHA", COUNT_UPLOAD_SHA, 2, shard, keys.of_shard(number, keys.NAME), *arguments)


def read_answer(answer: bytes, judgement: Judgement) -> Counted | QuotaExceededError | frozenset[str]:
    """Return what the script said of an upload: what became of it, or which of its windows were closed early."""
    if answer[0] == OVER_QUOTA:
        return QuotaExceededError("the upload would exceed its allowance of the day; nothing of it was counted")
    if answer[0] == LATE:
        return frozenset(answer[1:].decode().split(" "))
    if answer[0] == DUPLICATE:
        return Counted(verdict_again(judgement, *unpack(answer[1:])), is_duplicate=True)
    return Counted(Verdict(judgement.reports, judgement.refused), is_duplicate=False)


def verdict_again(judgement: Judgement, reports: int, counted: Collection[int]) -> Verdict:
    """Return the verdict on an upload that comes again, by what is remembered of it and by how it is judged now."""
    refused = dict(judgement.refused)
    return Verdict(
        reports,
        tuple((index, refused.get(index, COUNTABLE_NOW)) for index in range(reports) if index not in counted),
    )


def _remembered(judgement: Judgement) -> bytes:
    """Return what is to be remembered with the id; nothing where nothing counts."""
    if not judgement.additions:
        return b""
    refused = {index for index, _ in judgement.refused}
    return pack(judgement.reports, [index for index in range(judgement.reports) if index not in refused])


def _allowance(judgement: Judgement, shards: int) -> tuple[str | int, ...]:
    """Return what a shard must know of an allowance.

    Uploads fall evenly on the shards, so each allows its part; but never less than the largest upload needs, for an
    upload lies on one shard.
    """
    allowance = judgement.allowance
    if allowance is None:
        return "", "", "", ""
    allowed = max(ceil(allowance.limit / shards), min(allowance.limit, MAX_REPORTS))
    return allowance.name, allowance.expires_at, allowed, judgement.reports - len(judgement.refused)
