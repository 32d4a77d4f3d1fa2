-- ARGV: 3 owner, 4 ttl µs, then key, token, state and body of each record.
local function newer(a, b) return #a > #b or (#a == #b and a > b) end

-- Forgets owners that are gone, a few at a time. Their records are found by clean.
local sweep = redis.call('HGET', KEYS[1], 'statussweep') or ''
local function purge()
  local sample = redis.call('HRANDFIELD', KEYS[3], 16, 'WITHVALUES')
  for i = 1, #sample, 2 do
    if tonumber(string.match(sample[i + 1], '^%d+') or 0) <= now then
      redis.call('HDEL', KEYS[3], sample[i])
      owners[sample[i]] = nil
      sweep = (string.match(sweep, '^(%d+)/') or '0') .. '/2'
    end
  end
end

local function clean()
  local cursor, passes = string.match(sweep, '^(%d+)/(%d+)$')
  if not cursor then return end
  local page = redis.call('HSCAN', KEYS[2], cursor, 'COUNT', 100)
  for i = 1, #page[2], 2 do
    if not status(page[2][i + 1]) then redis.call('HDEL', KEYS[2], page[2][i]) end
  end
  if page[1] ~= '0' then
    sweep = page[1] .. '/' .. passes
  else
    sweep = passes == '1' and '' or '0/1'
  end
end

local me = owner(ARGV[3])
if not me or me.expires <= now then
  purge()
  me = {life = int(now)}
end
me.expires = now + ARGV[4]
owners[ARGV[3]] = me
redis.call('HSET', KEYS[3], ARGV[3], int(me.expires) .. ' ' .. me.life)

for i = 5, #ARGV, 4 do
  local key, token, state, body = ARGV[i], ARGV[i + 1], ARGV[i + 2], ARGV[i + 3]
  local old = status(redis.call('HGET', KEYS[2], key))
  if not (old and (newer(old.token, token) or (old.token == token and old.owner ~= ARGV[3]))) then
    local since = old and old.token == token and old.state == state and old.since or int(now)
    redis.call('HSET', KEYS[2], key, table.concat({
      token, since, me.life, state, #ARGV[3], ARGV[3] .. body
    }, ' '))
  end
end

local before = sweep
if #ARGV > 4 then clean() end
if sweep ~= before or sweep ~= '' then redis.call('HSET', KEYS[1], 'statussweep', sweep) end
return {'ok'}
