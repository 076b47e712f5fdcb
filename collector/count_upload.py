"""The one atomic step: look an upload id up, remember its verdict, count its reports, or do none of it."""

from __future__ import annotations

from hashlib import sha1

from client_sdk.spec import Refusal
from collector.remembered import REFUSAL_BYTES

BUCKET_ENTRIES = 128
"""Entries of a small sorted set: 22 to 25 bytes an upload id; a larger one would cost four times that an entry."""

BUCKET_LEVELS = 8
"""Levels of the tree of buckets, 8 branches each: room for 128 * 8**8 = 2 * 10**9 ids before a bucket outgrows it."""

ID_BYTES = 16

COUNT_UPLOAD = f"""
-- KEYS: base of the id buckets; closed windows; index of tallies; tallied windows; then a tally for each report
-- ARGV: id; its path through the buckets (octal digits); packed verdict; expiry (Unix seconds, 0: do not remember);
--       then for each report: index in the upload, symbol, number of symbols
local base, id, path, verdict, expiry = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4]

-- A bucket that is full hands on to one of eight below it: a bucket's ids are never more than a small set holds, and
-- few buckets are nearly empty, whether there are a hundred ids or a billion. Its members, an id and its verdict, are
-- sorted by their bytes: a hash would keep the order in which they came.
local level = 0
local bucket = base
while true do
  local found = redis.call('ZRANGEBYLEX', bucket, '[' .. id, '+', 'LIMIT', 0, 1)[1]
  if found and string.sub(found, 1, {ID_BYTES}) == id then return string.sub(found, {ID_BYTES + 1}) end
  if level == {BUCKET_LEVELS} or redis.call('ZCARD', bucket) < {BUCKET_ENTRIES} then break end
  level = level + 1
  bucket = base .. string.sub(path, 1, level)
end

for i = 5, #ARGV, 3 do
  local tally = KEYS[5 + (i - 5) / 3]
  local window = string.match(tally, '[^:]+$')
  if redis.call('SISMEMBER', KEYS[2], window) == 1 then
    verdict = verdict .. string.char(ARGV[i], ARGV[i], {REFUSAL_BYTES[Refusal.WINDOW_CLOSED]})
  elseif redis.call('BITFIELD', tally, 'INCRBY', 'i64', '#' .. ARGV[i + 1], 1)[1] == 1 then
    redis.call('HSET', KEYS[3], string.match(tally, ':tally:(.*)'), ARGV[i + 2])
    redis.call('SADD', KEYS[4], window)
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
return verdict
"""

COUNT_UPLOAD_SHA = sha1(COUNT_UPLOAD.encode()).hexdigest()  # noqa: S324 the protocol names scripts by SHA-1


def bucket_path(upload_id: str) -> str:
    """Return an upload id's way through the tree of buckets: an octal digit a level."""
    return format(int(upload_id[:6], 16), f"0{BUCKET_LEVELS}o")
