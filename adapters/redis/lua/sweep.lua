-- Garbage is cleared in small steps by whoever opens a session or acquires, and only while there
-- may be any: purging a session orders two passes over the leases (the pass under way may have been
-- where that session's leases are already). The marker keeps "<cursor>/<passes left>".
local function purge()
  local gone = 0
  for _, id in ipairs(redis.call('HRANDFIELD', KEYS[2], 16)) do
    local s = session(id)
    if s and s.expires + most <= now then
      open = open - redis.call('HDEL', KEYS[2], id)
      sessions[id] = false
      gone = gone + 1
    end
  end
  if gone > 0 then
    sweep = (string.match(sweep, '^(%d+)/') or '0') .. '/2'
  end
end

local function clean()
  local cursor, passes = string.match(sweep, '^(%d+)/(%d+)$')
  if not cursor or freeze > 0 then return end
  local page = redis.call('HSCAN', KEYS[3], cursor, 'COUNT', 100)
  for i = 1, #page[2], 2 do
    local key = page[2][i]
    texts[key] = page[2][i + 1]
    local r = record(key)
    if r and taken(r) == 0 and not damaged then drop_record(key, r) end
  end
  if page[1] ~= '0' then
    sweep = page[1] .. '/' .. passes
  elseif passes == '1' then
    sweep = ''
  else
    sweep = '0/1'
  end
end
