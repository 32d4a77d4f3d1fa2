-- ARGV: 3 cursor. One page of the records that live: the next cursor, then key, record and µs left of
-- each. A key may come twice.
local page = redis.call('HSCAN', KEYS[2], ARGV[3], 'COUNT', 500)
local reply = {'ok', page[1]}
for i = 1, #page[2], 2 do
  local s = status(page[2][i + 1])
  if s then
    local n = #reply
    reply[n + 1], reply[n + 2], reply[n + 3] = page[2][i], page[2][i + 1], s.left
  end
end
return reply
