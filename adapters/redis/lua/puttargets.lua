-- ARGV: 3 token, 4 channel, 5 epoch, 6 incarnation, 7 digest, 8 planner, 9 history, 10 number of sets, then
-- field and value of each set, then the field of each instance that is gone.

-- Numbers are compared as text: they may be above 2^53, where Lua's are not exact.
local function newer(a, b) return #a > #b or (#a == #b and a > b) end

local token, epoch, digest, writes = string.match(head, '^(%d+) (%d+) %d+ (%d+) %d+ (%d+) ')
if token and (newer(token, ARGV[3]) or (token == ARGV[3] and newer(epoch, ARGV[5]))) then
  return {'superseded'}
end

-- A claim brings neither digest nor history, and loses none.
if ARGV[7] ~= '0' or not digest then digest = ARGV[7] end
redis.call('HSET', KEYS[2], 'head', table.concat({
  ARGV[3], ARGV[5], ARGV[6], digest, int(now), int((writes or 0) + 1), ARGV[8]
}, ' '))
if ARGV[9] ~= '' then redis.call('HSET', KEYS[2], 'history', ARGV[9]) end

local last = 10 + 2 * ARGV[10]
if last > 10 then redis.call('HSET', KEYS[2], unpack(ARGV, 11, last)) end
if #ARGV > last then redis.call('HDEL', KEYS[2], unpack(ARGV, last + 1)) end
if #ARGV > 10 then hint('planned', '') end
return {'ok'}
