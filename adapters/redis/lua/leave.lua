-- ARGV: 3 id, 4 channel
bury()
if remove(ARGV[3]) > 0 then
  turn()
  hint('left', ARGV[3])
end
return {'ok'}
