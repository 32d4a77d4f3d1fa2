-- ARGV: 3 id, 4 channel
bury()
local m = member(ARGV[3])
if m and not m.draining then
  m.draining = true
  put_member(ARGV[3], m)
  turn()
  hint('draining', ARGV[3])
end
return {'ok'}
