-- ARGV: 3 session, 4 ttl µs
local s = session(ARGV[3])
if s and not alive(s) and freeze == 0 then return answer('lapsed') end

s = s or {opened = int(now), revision = '0'}
s.expires = now + ARGV[4]
put_session(ARGV[3], s)
purge()
clean()
save()
return answer('ok')
