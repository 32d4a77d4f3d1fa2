-- ARGV: 3 cursor, or "all" for everything at once. Answers the head, the next cursor, and fields and values
-- in turn. Pages belong together where they have one head: it counts the writes.
if ARGV[3] == 'all' then return {'ok', head, '0', redis.call('HGETALL', KEYS[2])} end
local page = redis.call('HSCAN', KEYS[2], ARGV[3], 'COUNT', 500)
return {'ok', head, page[1], page[2]}
