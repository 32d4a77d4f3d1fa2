-- ARGV: 3 key, 4 channel. A second call finds the mark and moves nothing.
texts[ARGV[3]] = redis.call('HGET', KEYS[3], ARGV[3])
local r = record(ARGV[3])
if r and taken(r) > 0 and r.revoked == 0 then
  local s = session(r.session)
  r.revoked = s.expires
  s.revision = int(math.max(s.revision + 1, now))
  put_record(ARGV[3], r)
  put_session(r.session, s)
  hint('revoked', ARGV[3])
end
return answer('ok')
