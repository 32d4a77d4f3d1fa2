-- ARGV: 3 id, 4 channel, 5 ttl µs, 6 description, 7 join time already known or "", 8 draining, 9 leaving
-- ("1" or "0"), 10 the generation that the caller knows.
bury()
local was = member(ARGV[3])
local is = {
  joined = was and was.joined or (ARGV[7] ~= '' and ARGV[7] or int(now)),
  ttl = ARGV[5],
  draining = ARGV[8] == '1' or (was ~= nil and was.draining),
  leaving = ARGV[9] == '1',
  description = ARGV[6]
}
put_member(ARGV[3], is)
redis.call('ZADD', KEYS[3], now + ARGV[5], ARGV[3])
if not was or was.text ~= is.text then turn() end

-- The dead are cleared away, so the first two tell who expires next among the others.
local soon = redis.call('ZRANGE', KEYS[3], 0, 1, 'WITHSCORES')
local expires = soon[1] ~= ARGV[3] and soon[2] or soon[4] or ''
local reply = {'ok', now, generation, is.text, expires}
if ARGV[10] ~= generation then reply[6], reply[7] = listing() end

if not was then
  hint('joined', ARGV[3])
elseif is.draining and not was.draining then
  hint('draining', ARGV[3])
elseif is.leaving and not was.leaving then
  hint('left', ARGV[3])
end
return reply
