-- ARGV: 3 session, 4 owner, 5 the µs after which nobody waits for this call any more (0: unknown),
-- 6 "1" to write in any case, 7.. keys. Answers for each key: outcome, token or owner, time.

-- A request can arrive long after its sender gave up, out of a stopped server's buffers. Its grant
-- would be a lease that nobody knows of, for as long as the session lives.
local until_then = tonumber(ARGV[5])
if until_then > 0 and now > until_then then return answer('late') end

local me = session(ARGV[3])
if not alive(me) then return answer(freeze > 0 and 'unproven' or 'lapsed') end

local reply = answer('ok')
local function push(outcome, text, time)
  reply[#reply + 1] = outcome
  reply[#reply + 1] = text
  reply[#reply + 1] = time
end

local function grant(key, r)
  local token = math.max(r and tonumber(r.token) + 1 or 0, floor + 1, now)
  floor = token
  put_record(key, {
    token = int(token), granted = int(now), incarnation = number, revoked = 0,
    opened = me.opened, session = ARGV[3], owner = ARGV[4]
  })
  push('granted', int(token), int(now))
end

local before = floor
for i = 7, #ARGV do
  local key = ARGV[i]
  local r = record(key)
  local till = r and taken(r) or 0
  if till > now and r.session == ARGV[3] and r.revoked == 0 then
    push('granted', r.token, r.granted) -- a repeated call: the same token
  elseif freeze > 0 or damaged then
    push('busy', '', int(freeze))
  elseif till > now then
    push('held', r.owner, int(till - now))
  else
    grant(key, r)
  end
end

clean()
if floor ~= before or sweep ~= (marker[10] or '') or ARGV[6] == '1' then save() end
if damaged then return answer('damaged') end
return reply
