-- ARGV: 3 session, 4 channel, then key and token of each lease.
local freed = {}
load(5, 2)
for i = 5, #ARGV, 2 do
  local key = ARGV[i]
  local r = record(key)
  if r and r.session == ARGV[3] and r.token == ARGV[i + 1] then
    if freeze > 0 then
      r.session, r.owner = '', '' -- so that a late Verify does not write the lease again
      put_record(key, r)
    else
      drop_record(key, r)
    end
    freed[#freed + 1] = key
  end
end
if #freed > 0 then
  save()
  hint('released', #freed == 1 and freed[1] or '')
end
return answer('ok')
