-- ARGV: 3 session, 4 owner, then key, token and granted µs of each lease.
-- Answers for each lease: "" where it is held, or why it is not.
local me = session(ARGV[3])
if not alive(me) then return answer(freeze > 0 and 'unproven' or 'lapsed') end
local mine = tail(ARGV[3], me, ARGV[4])

local function verdict(key, token, granted)
  local text = token .. ' ' .. granted .. mine
  if texts[key] == text then return '' end
  local r = record(key)
  local same = r and r.session == ARGV[3] and r.token == token
  if same and r.revoked > 0 then return 'revoked' end
  if same and taken(r) > 0 then return '' end
  -- The record was lost, is of an earlier incarnation, or is a remnant of an earlier term: the
  -- holder knows better. One that was let go of is not written again, nor a token that no store granted.
  if freeze > 0 and (same or not r or newer(token, r.token)) and not newer(token, '9007199254740000') then
    write(key, text)
    floor = math.max(floor, tonumber(token))
    return ''
  end
  if r and taken(r) > 0 and r.session ~= ARGV[3] and newer(r.token, token) then return 'taken' end
  return 'forgotten'
end

local reply = answer('ok')
load(5, 3)
for i = 5, #ARGV, 3 do
  reply[#reply + 1] = verdict(ARGV[i], ARGV[i + 1], ARGV[i + 2])
end
if freeze > 0 then save() end
if damaged then return answer('damaged') end
return reply
