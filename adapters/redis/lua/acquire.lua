-- ARGV: 3 session, 4 owner, 5 the µs after which nobody waits for this call any more (0: unknown),
-- 6 "1" to write in any case, 7.. keys. Answers for each key: outcome, token or owner, time.
-- A grant after a lapse has "<token> <µs since the lapse> <owner before>" for its text.

-- A request can arrive long after its sender gave up, out of a stopped server's buffers. Its grant
-- would be a lease that nobody knows of, for as long as the session lives.
local patience = tonumber(ARGV[5])
if patience > 0 and now > patience then return answer('late') end

local me = session(ARGV[3])
if not alive(me) then return answer(freeze > 0 and 'unproven' or 'lapsed') end
local mine = tail(ARGV[3], me, ARGV[4])

local reply = answer('ok')
local function push(outcome, text, time)
  local n = #reply
  reply[n + 1], reply[n + 2], reply[n + 3] = outcome, text, time
end

local stamp = ' ' .. int(now)
local function grant(key, r)
  floor = math.max(r and tonumber(r.token) + 1 or 0, floor + 1, now)
  local token = int(floor)
  write(key, token .. stamp .. mine)
  local s = r and r.revoked == 0 and r.incarnation == incarnation and session(r.session)
  if s and s.opened == r.opened then -- it ran out
    push('lapsed', token .. ' ' .. int(now - s.expires) .. ' ' .. r.owner, now)
  else
    push('granted', token, now)
  end
end

local function try(key)
  local text = texts[key]
  if text then
    local _, at, token, granted = string.find(text, '^(%d+) (%d+)')
    if at and string.sub(text, at + 1) == mine then
      return push('granted', token, granted) -- a repeated call: the same token
    end
  end
  local r = record(key)
  local till = r and taken(r) or 0
  if freeze > 0 or damaged then
    push('busy', '', freeze)
  elseif till > now then
    push('held', r.owner, till - now)
  else
    grant(key, r)
  end
end

local before = floor
load(7, 1)
for i = 7, #ARGV do try(ARGV[i]) end
clean()
if floor ~= before or sweep ~= (marker[10] or '') or ARGV[6] == '1' then save() end
if damaged then return answer('damaged') end
return reply
