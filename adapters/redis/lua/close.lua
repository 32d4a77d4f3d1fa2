-- ARGV: 3 session, 4 channel, 5 cursor, 6 "1" while another page may be asked for. The session expires
-- now, and with it all that it holds. Others are told only where that frees something, so a page of the
-- leases is looked through before; where it shows none of the session's, the answer is the cursor of the
-- next page, and nothing has happened yet.
local s = session(ARGV[3])
if not alive(s) then return answer('ok') end

local page = redis.call('HSCAN', KEYS[3], ARGV[5], 'COUNT', 500)
local held = false
for i = 1, #page[2], 2 do
  if string.find(page[2][i + 1], ARGV[3], 1, true) then
    texts[page[2][i]] = page[2][i + 1]
    local r = record(page[2][i])
    held = r and r.session == ARGV[3] and taken(r) > 0
    if held then break end
  end
end

local reply = answer('ok')
if damaged then return reply end
if not held and page[1] ~= '0' and ARGV[6] == '1' then
  reply[6] = page[1]
  return reply
end
s.expires, s.opened = now, '0' -- no record is of a session that was opened then: they lapse not, they are let go of
put_session(ARGV[3], s)
if held then hint('released', '') end
return reply
