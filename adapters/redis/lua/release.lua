-- ARGV: 3 session, 4 channel, then key and token of each lease. A record whose time was over goes as
-- well, but frees nothing that was not free before.
local gone, freed = 0, {}
load(5, 2)
for i = 5, #ARGV, 2 do
  local key = ARGV[i]
  local r = record(key)
  if r and r.session == ARGV[3] and r.token == ARGV[i + 1] then
    if taken(r) > 0 then freed[#freed + 1] = key end
    if freeze > 0 then
      r.session, r.owner = '', '' -- so that a late Verify does not write the lease again
      put_record(key, r)
    else
      drop_record(key, r)
    end
    gone = gone + 1
  end
end
if gone > 0 then save() end
if #freed > 0 then hint('released', #freed == 1 and freed[1] or '') end
return answer('ok')
