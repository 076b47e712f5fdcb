"""The one atomic step: look an upload id up, remember its verdict, count its reports, or do none of it."""

from __future__ import annotations

from hashlib import sha1
from math import ceil

from client_sdk.spec import MAX_REPORTS, Refusal
from collector import keys
from collector.judge import Judgement
from collector.remembered import REFUSAL_BYTES, pack, unpack
from collector.request import Request
from collector.store import Counted, QuotaExceededError

BUCKET_ENTRIES = 128
"""Entries of a small sorted set: 22 to 25 bytes an upload id; a larger one would cost four times that an entry."""

BUCKET_LEVELS = 8
"""Levels of the tree of buckets, 8 branches each: room for 128 * 8**8 = 2 * 10**9 ids before a bucket outgrows it."""

ID_BYTES = 16

FIRST_ADDITION = 10
"""Index in the script's arguments of what it must know of the first tally that gets reports."""

ARGUMENTS_AN_ADDITION = 3

NOT_THE_STORE = "a shard is not one of the store that this collector began with"
"""What the script says of one that was emptied, or put in the place of another."""

COUNTED, DUPLICATE, OVER_QUOTA = b"cdq"
"""First byte of the script's answer; a packed verdict follows the first two."""

COUNT_UPLOAD = f"""
-- KEYS: the shard's prefix, which itself is no key; base of the id buckets. While a cluster moves the slot key by key,
--       a script of which not every key is there is told to try again: as the first never is, no upload is judged by
--       half of what the store remembers
-- ARGV: the store's name; id; its path through the buckets (octal digits); packed verdict; expiry (Unix seconds,
--       0: do not remember); name and expiry (Unix seconds) of the allowance, its size, what the upload is charged; all
--       four empty where there is none; then for each tally that gets reports: its name, its number of symbols, and
--       the symbol of each report by its index in the upload, such as {{0: 3, 4: 1}}
local shard, base = KEYS[1], KEYS[2]
local name, id, path, verdict, expiry, allowance, allowance_expiry, allowed, charge =
  unpack(ARGV, 1, {FIRST_ADDITION - 1})

-- A shard that was lost forgot what it counted: it must not begin anew while somebody counts on what it held.
if redis.call('GET', shard .. '{keys.NAME}') ~= name then
  return redis.error_reply('{NOT_THE_STORE}: nothing was counted')
end

-- A bucket that is full hands on to one of eight below it: a bucket's ids are never more than a small set holds, and
-- few buckets are nearly empty, whether there are a hundred ids or a billion. Its members, an id and its verdict, are
-- sorted by their bytes: a hash would keep the order in which they came.
local level = 0
local bucket = base
while true do
  local found = redis.call('ZRANGEBYLEX', bucket, '[' .. id, '+', 'LIMIT', 0, 1)[1]
  if found and string.sub(found, 1, {ID_BYTES}) == id then
    redis.call('INCR', shard .. 'duplicates')  -- a write, for a wait for copies to cover the first attempt by
    return '{chr(DUPLICATE)}' .. string.sub(found, {ID_BYTES + 1})
  end
  if level == {BUCKET_LEVELS} or redis.call('ZCARD', bucket) < {BUCKET_ENTRIES} then break end
  level = level + 1
  bucket = base .. string.sub(path, 1, level)
end

-- By a clock that is days ahead of the collector's the id would expire at once, and its upload count again.
if expiry ~= '0' and tonumber(expiry) <= tonumber(redis.call('TIME')[1]) then
  return redis.error_reply('the clocks of store and collector are days apart: nothing was counted')
end

if allowance ~= '' and charge ~= '0' then
  local quota = shard .. 'quota:' .. allowance .. ':' .. allowance_expiry
  if (redis.call('GET', quota) or 0) + charge > tonumber(allowed) then return '{chr(OVER_QUOTA)}' end
  redis.call('INCRBY', quota, charge)
  redis.call('EXPIREAT', quota, allowance_expiry)
end

local closed = {{}}  -- by window: an upload has reports of few windows, and perhaps many of each
for i = {FIRST_ADDITION}, #ARGV, {ARGUMENTS_AN_ADDITION} do
  local tally, symbols, reported = unpack(ARGV, i, i + {ARGUMENTS_AN_ADDITION - 1})
  local window = string.match(tally, '.*:(.*)')
  if closed[window] == nil then closed[window] = redis.call('SISMEMBER', shard .. 'closed', window) == 1 end
  for place, symbol in string.gmatch(reported, '(%d+): (%d+)') do
    if closed[window] then
      verdict = verdict .. string.char(place, place, {REFUSAL_BYTES[Refusal.WINDOW_CLOSED]})
    elseif redis.call('BITFIELD', shard .. 'tally:' .. tally, 'INCRBY', 'i64', '#' .. symbol, 1)[1] == 1 then
      redis.call('HSET', shard .. 'tallies', tally, symbols)
      redis.call('SADD', shard .. 'windows', window)
    end
  end
end

if expiry ~= '0' then
  redis.call('ZADD', bucket, 0, id .. verdict)
  -- A bucket must outlive those below it, or the way down to them is lost: so all on the path live at least as long.
  for above = 0, level do
    local key = base .. string.sub(path, 1, above)
    redis.call('EXPIREAT', key, expiry, 'NX')
    redis.call('EXPIREAT', key, expiry, 'GT')
  end
end
return '{chr(COUNTED)}' .. verdict
"""

COUNT_UPLOAD_SHA = sha1(COUNT_UPLOAD.encode()).hexdigest()  # noqa: S324 the protocol names scripts by SHA-1


def bucket_path(upload_id: str) -> str:
    """Return an upload id's way through the tree of buckets: an octal digit a level."""
    return format(int(upload_id[:6], 16), f"0{BUCKET_LEVELS}o")


def count_request(judgement: Judgement, shards: int, name: str) -> Request:
    """Return the command that counts an upload on its shard, if that bears the store's name."""
    shard = keys.prefix(keys.shard_of(judgement.upload, shards))
    arguments: list[bytes | str | int] = [
        name,
        bytes.fromhex(judgement.upload),
        bucket_path(judgement.upload),
        pack(judgement.reports, judgement.refused),
        judgement.remember_until,
        *_allowance(judgement, shards),
    ]
    for (tally, symbols), reported in judgement.additions.items():
        arguments += (tally, symbols, str(reported))
    ids = f"{shard}ids:{judgement.latest_end}:"
    return Request.of(shard, "EVALSHA", COUNT_UPLOAD_SHA, 2, shard, ids, *arguments)


def read_answer(answer: bytes) -> Counted | QuotaExceededError:
    """Return what the script said of an upload."""
    if answer[0] == OVER_QUOTA:
        return QuotaExceededError("the upload would exceed its allowance of the day; nothing of it was counted")
    return Counted(unpack(answer[1:]), answer[0] == DUPLICATE)


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
