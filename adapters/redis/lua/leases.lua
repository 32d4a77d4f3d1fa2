-- ARGV: 3 cursor. One page of what is held now: the next cursor, then key, token, grant, session and
-- owner of each lease. A key may come twice. (In a fleet without a trace the guard has answered.)
local page = redis.call('HSCAN', KEYS[3], ARGV[3], 'COUNT', 500)
local reply = answer('ok')
reply[6] = page[1]
for i = 1, #page[2], 2 do
  local key = page[2][i]
  texts[key] = page[2][i + 1]
  local r = record(key)
  if r and taken(r) > 0 then
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3], reply[n + 4], reply[n + 5] = key, r.token, r.granted, r.session, r.owner
  end
end
if damaged then return answer('damaged') end
return reply
