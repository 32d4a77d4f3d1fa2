-- ARGV: 3 session, 4 channel. The session expires now, and with it all that it holds.
local s = session(ARGV[3])
if alive(s) then
  s.expires = now
  put_session(ARGV[3], s)
  hint('released', '')
end
return answer('ok')
