-- The head of every script: the server's time, read once, and numbers as text.
-- KEYS[1] is the fleet's marker, ARGV[1] the schema version that this client speaks.

-- Lua's own conversion would write 1796057900118412 as 1.7960579001184e+15. Arguments of commands and
-- answers need no conversion: Redis writes whole numbers below 2^53 exactly.
local function int(n) return string.format('%.0f', n) end

local clock = redis.call('TIME')
local now = clock[1] * 1000000 + clock[2]
