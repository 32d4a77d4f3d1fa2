-- Leases: key -> "<token> <granted µs> <incarnation> <revoked until µs> <session opened µs>
-- <length of the session's id> <session id><owner>". The length keeps any two records apart,
-- whatever their ids contain. An empty session: let go of, and kept only to say so.
local function record(key)
  local text = redis.call('HGET', KEYS[3], key)
  if not text then return nil end
  local token, granted, incarnation, revoked, opened, length, at =
    string.match(text, '^(%d+) (%d+) (%d+) (%d+) (%d+) (%d+) ()')
  if not token then
    damaged = true
    redis.call('HDEL', KEYS[3], key)
    return nil
  end
  local split = at + tonumber(length)
  return {
    token = token, granted = granted, incarnation = tonumber(incarnation), revoked = tonumber(revoked),
    opened = tonumber(opened), session = string.sub(text, at, split - 1), owner = string.sub(text, split)
  }
end

local function put_record(key, r)
  held = held + redis.call('HSET', KEYS[3], key, table.concat({
    r.token, r.granted, int(r.incarnation), int(r.revoked), int(r.opened), int(#r.session), r.session .. r.owner
  }, ' '))
end

local function drop_record(key, r)
  floor = math.max(floor, tonumber(r.token))
  held = held - redis.call('HDEL', KEYS[3], key)
end

-- The time until which the record keeps its key from others; 0: it does not. It counts only in the
-- incarnation that granted it or in which it was verified, and for the session that it was granted to,
-- not for one that was opened under the same id long after.
local function taken(r)
  if r.incarnation ~= number then return 0 end
  local s = session(r.session)
  if not alive(s) or s.opened ~= r.opened then return 0 end
  if r.revoked > 0 then return r.revoked > now and math.min(r.revoked, s.expires) or 0 end
  return s.expires
end

-- Tokens are compared as text: a client may assert one above 2^53, where Lua's numbers are not exact.
local function newer(a, b) return #a > #b or (#a == #b and a > b) end
