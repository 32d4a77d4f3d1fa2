-- Leases: key -> "<token> <granted µs> <incarnation> <revoked until µs> <session opened µs>
-- <length of the session's id> <session id><owner>". The length keeps any two records apart,
-- whatever their ids contain. An empty session: let go of, and kept only to say so.
local texts = {}

-- Reads the records of every step-th argument from first on, at once.
local function load(first, step)
  local keys = {}
  for i = first, #ARGV, step do keys[#keys + 1] = ARGV[i] end
  if #keys == 0 then return end
  local found = redis.call('HMGET', KEYS[3], unpack(keys))
  for i, key in ipairs(keys) do texts[key] = found[i] end
end

-- All that follows token and grant in the record of a session's lease that counts. A record that ends so
-- needs no further look, and most do.
local function tail(id, s, owner)
  return ' ' .. incarnation .. ' 0 ' .. s.opened .. ' ' .. #id .. ' ' .. id .. owner
end

local function record(key)
  local text = texts[key]
  if not text then return nil end
  local token, granted, number, revoked, opened, length, at =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')
  if not token then
    damaged = true
    redis.call('HDEL', KEYS[3], key)
    return nil
  end
  local split = at + tonumber(length)
  return {
    token = token, granted = granted, incarnation = number, revoked = tonumber(revoked),
    opened = opened, session = string.sub(text, at, split - 1), owner = string.sub(text, split)
  }
end

local function write(key, text)
  texts[key] = text
  held = held + redis.call('HSET', KEYS[3], key, text)
end

local function put_record(key, r)
  write(key, table.concat({
    r.token, r.granted, r.incarnation, int(r.revoked), r.opened, #r.session, r.session .. r.owner
  }, ' '))
end

local function drop_record(key, r)
  texts[key] = false
  floor = math.max(floor, tonumber(r.token))
  held = held - redis.call('HDEL', KEYS[3], key)
end

-- The time until which the record keeps its key from others; 0: it does not. It counts only in the
-- incarnation that granted it or in which it was verified, and for the session that it was granted to,
-- not for one that was opened under the same id long after.
local function taken(r)
  if r.incarnation ~= incarnation then return 0 end
  local s = session(r.session)
  if not alive(s) or s.opened ~= r.opened then return 0 end
  if r.revoked > 0 then return r.revoked > now and math.min(r.revoked, s.expires) or 0 end
  return s.expires
end

-- Tokens are compared as text: a client may assert one above 2^53, where Lua's numbers are not exact.
local function newer(a, b) return #a > #b or (#a == #b and a > b) end
