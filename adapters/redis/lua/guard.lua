-- The incarnation guard. It begins every lease script: where the data may lack its latest writes,
-- a new incarnation starts and nothing new is granted until every session that may have been
-- open has lapsed or was renewed.
-- KEYS: 1 marker, 2 sessions, 3 leases. ARGV: 1 schema version, 2 the fleet's MaxTTL in µs.
local marker = redis.call('HMGET', KEYS[1],
  'schema', 'incarnation', 'history', 'run', 'frozen', 'sessions', 'leases', 'floor', 'maxttl', 'sweep')
if marker[1] and tonumber(marker[1]) > tonumber(ARGV[1]) then return {'schema', marker[1]} end

local incarnation = marker[2]            -- as text; records are compared with it
local frozen = tonumber(marker[5] or 0)  -- µs until which nothing new is granted
local open = redis.call('HLEN', KEYS[2]) -- how many sessions and leases there should be
local held = redis.call('HLEN', KEYS[3])
local floor = tonumber(marker[8] or 0)   -- the highest token granted or asserted
local most = tonumber(marker[9] or 0)    -- the longest MaxTTL that any client named
local sweep = marker[10] or ''

if looking and not incarnation and open + held == 0 then return {'ok', now, 0, 0, '', '0'} end

-- A part of the fingerprint that either side does not know proves nothing.
local function differs(known, seen) return known and known ~= '' and seen ~= '' and known ~= seen end

local cause = ''
local seen = history()
if not incarnation then
  cause = 'no marker'
elseif differs(marker[3], seen) or (thorough and differs(marker[4], run())) then
  cause = 'another server'
elseif tonumber(marker[6]) ~= open or tonumber(marker[7]) ~= held then
  cause = 'missing records'
end

local longer = tonumber(ARGV[2]) - most
if longer > 0 then
  most = most + longer
  redis.call('HSET', KEYS[1], 'maxttl', most)
  if frozen > 0 then
    -- Whoever began the incarnation knew a shorter MaxTTL than sessions may have had: it freezes for the longer one,
    -- counted from when it began.
    frozen = frozen + longer
    redis.call('HSET', KEYS[1], 'frozen', frozen)
  end
end
if cause ~= '' then
  incarnation = int(math.max(tonumber(incarnation or 0) + 1, now))
  frozen = now + most
  redis.call('HSET', KEYS[1], 'schema', ARGV[1], 'incarnation', incarnation, 'history', seen, 'run', run(),
    'frozen', frozen, 'sessions', open, 'leases', held, 'floor', floor, 'sweep', sweep)
elseif thorough and seen ~= '' and marker[3] == '' then
  redis.call('HSET', KEYS[1], 'history', seen, 'run', run()) -- the first one who may read INFO
elseif frozen > now + most then
  frozen = now + most -- the clock was set back: a freeze is never longer than MaxTTL
  redis.call('HSET', KEYS[1], 'frozen', frozen)
end
local freeze = math.max(frozen - now, 0)

-- A record that cannot be read is removed, as if it had been lost: the next script finds it missing. Until
-- then nothing that this one found out about it may be believed.
local damaged = false

-- Every answer begins alike: outcome, time, incarnation, freeze left, why a new one has begun.
local function answer(outcome)
  return {damaged and 'damaged' or outcome, now, incarnation, freeze, cause}
end

-- Writes back what the marker counts. It counts what this client did, not what HLEN says: so a
-- record that vanished in between is missed by the next script.
local function save()
  redis.call('HSET', KEYS[1], 'sessions', open, 'leases', held, 'floor', floor, 'sweep', sweep)
end
