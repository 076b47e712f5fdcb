"""Scripts that read a store for a backup and fill a store from one.

Each is one atomic step on the server.
"""

from __future__ import annotations

from collector.store import keys
from collector.store.count_script import BUCKET_ENTRIES, BUCKET_LEVELS, ID_BYTES, PATH

READ_BUCKETS = """
-- KEYS: the shard's prefix, which itself is no key
-- ARGV: the cursor; the prefix of the buckets' names
local found, visited, cursor = {}, 0, ARGV[1]
repeat
  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. ARGV[2] .. ':*', 'COUNT', 100)
  cursor, visited = page[1], visited + 100
  for _, key in ipairs(page[2]) do
    table.insert(found, {key, redis.call('EXPIRETIME', key), redis.call('ZRANGE', key, 0, -1)})
  end
until cursor == '0' or #found >= 50 or visited >= 10000
return {cursor, found}
"""
"""Reads one page, so that uploads wait for a few milliseconds only."""

CUT = f"""
-- KEYS: the shard's prefix, which itself is no key
-- ARGV: the known buckets, one per line: key, expiry, number of uploads
local known = {{}}
for key, state in string.gmatch(ARGV[1], '(%S+) (%S+ %S+)\\n') do known[key] = state end
local changed, cursor = {{}}, '0'
repeat
  local page = redis.call('SCAN', cursor, 'MATCH', KEYS[1] .. '{keys.IDS}:*', 'COUNT', 1000)
  cursor = page[1]
  for _, key in ipairs(page[2]) do
    local expiry = redis.call('EXPIRETIME', key)
    if known[key] ~= expiry .. ' ' .. redis.call('ZCARD', key) then
      table.insert(changed, {{key, expiry, redis.call('ZRANGE', key, 0, -1)}})
    end
  end
until cursor == '0'
local closed, is_closed = redis.call('SMEMBERS', KEYS[1] .. 'closed'), {{}}
for _, window in ipairs(closed) do is_closed[window] = true end
local index, open = redis.call('HGETALL', KEYS[1] .. 'tallies'), {{}}
for i = 1, #index, 2 do
  if not is_closed[string.match(index[i], '[^:]+$')] then
    table.insert(open, {{index[i], redis.call('GET', KEYS[1] .. 'tally:' .. index[i])}})
  end
end
return {{changed, closed, index, open}}
"""

REMEMBER = f"""
-- KEYS: base of the id buckets
-- ARGV: the store's name; expiry (Unix seconds); then ids, each with its packed verdict
-- The buckets form the same tree as those of counted uploads: a bucket is filled before those below it.
{PATH}

local function put(path, level, members)
  local bucket, is_there = KEYS[1] .. path, {{}}
  local present = redis.call('ZRANGE', bucket, 0, -1)
  for _, member in ipairs(present) do is_there[string.sub(member, 1, {ID_BYTES})] = true end
  local room = level == {BUCKET_LEVELS} and math.huge or {BUCKET_ENTRIES} - #present
  local added, below = {{}}, {{}}
  for _, member in ipairs(members) do
    local id = string.sub(member, 1, {ID_BYTES})
    if not is_there[id] then
      if #added < 2 * room then
        is_there[id] = true  -- a backup may hold an id twice, and a bucket that is not full ends the search for one
        table.insert(added, 0)
        table.insert(added, member)
      else
        local next = string.sub(path_of(ARGV[1], id), 1, level + 1)
        below[next] = below[next] or {{}}
        table.insert(below[next], member)
      end
    end
  end
  if #added > 0 then redis.call('ZADD', bucket, unpack(added)) end
  redis.call('EXPIREAT', bucket, ARGV[2], 'NX')
  redis.call('EXPIREAT', bucket, ARGV[2], 'GT')
  for next, rest in pairs(below) do put(next, level + 1, rest) end
end

put('', 0, {{unpack(ARGV, 3)}})
"""

PUT = """
-- KEYS: a tally; the shard's index of tallies; its windows with a tally
-- ARGV: packed counts; the tally's name; number of symbols; window
local found = redis.call('GET', KEYS[1])
if found and found ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
redis.call('SADD', KEYS[3], ARGV[4])
return 1
"""
