-- Members: id -> "<joined µs> <TTL µs> <marks> <description>", marks being a subset of "dl" or "-", and
-- beside them a sorted set id -> expiry µs.
-- KEYS: 1 marker, 2 members, 3 lives, 4 generation.
local function member(id)
  local expires = redis.call('ZSCORE', KEYS[3], id)
  local text = redis.call('HGET', KEYS[2], id)
  if not text or not expires or tonumber(expires) <= now then return nil end
  local joined, ttl, marks, description = string.match(text, '^(%-?%d+) (%d+) ([dl%-]+) (.*)$')
  if not joined then return nil end
  return {text = text, joined = joined, ttl = ttl, draining = string.find(marks, 'd') ~= nil,
    leaving = string.find(marks, 'l') ~= nil, description = description}
end

local function put_member(id, m)
  local marks = (m.draining and 'd' or '') .. (m.leaving and 'l' or '')
  m.text = m.joined .. ' ' .. m.ttl .. ' ' .. (marks == '' and '-' or marks) .. ' ' .. m.description
  redis.call('HSET', KEYS[2], id, m.text)
end

local function remove(id)
  redis.call('HDEL', KEYS[2], id)
  return redis.call('ZREM', KEYS[3], id)
end

-- Generations count by the clock, as tokens do: a fleet whose data was lost never answers
-- "unchanged" to a generation of its former life.
local generation = redis.call('GET', KEYS[4]) or '0'
local function turn()
  generation = int(math.max(generation + 1, now))
  redis.call('SET', KEYS[4], generation)
end

-- Where the clock was set back, the lives of before end too late: each is cut to what its TTL allows, the latest
-- first, until one is met that is in order. All but the first time after a step that is the very first one.
local function shorten()
  for _ = 1, 500 do
    local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
    if not last[1] then return end
    local ttl = string.match(redis.call('HGET', KEYS[2], last[1]) or '', '^%-?%d+ (%d+) ')
    if ttl and tonumber(last[2]) <= now + ttl then return end
    redis.call('ZADD', KEYS[3], now + (ttl or 0), last[1]) -- without a readable record nobody lives
  end
end

-- Removes members whose life has ended. Whoever looks first does it. A fleet that nobody ever joined stays
-- without a trace, however often it is looked at.
local function bury()
  shorten()
  local dead = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now, 'LIMIT', 0, 500)
  for _, id in ipairs(dead) do remove(id) end
  if #dead > 0 or (generation == '0' and redis.call('HLEN', KEYS[2]) > 0) then turn() end
end

-- The whole membership: records, and lives. Dead ones that are still there have no life in it.
local function listing()
  return redis.call('HGETALL', KEYS[2]),
    redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. int(now), '+inf', 'WITHSCORES')
end
