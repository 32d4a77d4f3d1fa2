-- ARGV: 3 session, 4 ttl µs. One read and one write, whatever the session holds.
local s = session(ARGV[3])
-- While frozen, a missing session may have been lost with the data, and a lapsed one may have been
-- renewed: no key has gone to another since, so it may go on.
if not alive(s) and freeze == 0 then return answer('lapsed') end

local known = s
s = s or {opened = int(now), revision = '0'}
s.expires = now + ARGV[4]
put_session(ARGV[3], s)
if not known then save() end

local reply = answer('ok')
reply[6] = s.revision
return reply
