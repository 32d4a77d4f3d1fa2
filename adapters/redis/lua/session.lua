-- Sessions: id -> "<expires µs> <opened µs> <revision>". A session is alive before it expires; a
-- closed one expired when it was closed. A lapsed one is remembered for MaxTTL.
local sessions = {}

local function put_session(id, s)
  sessions[id] = s
  open = open + redis.call('HSET', KEYS[2], id, int(s.expires) .. ' ' .. s.opened .. ' ' .. s.revision)
end

local function session(id)
  if sessions[id] ~= nil then return sessions[id] end
  local text = redis.call('HGET', KEYS[2], id)
  local expires, opened, revision = string.match(text or '', '^(%d+) (%d+) (%d+)$')
  local s = expires and {expires = tonumber(expires), opened = opened, revision = revision} or false
  sessions[id] = s
  if s and s.expires > now + most then
    s.expires = now + most -- the clock was set back
    put_session(id, s)
  elseif text and not s then
    damaged = true
    redis.call('HDEL', KEYS[2], id)
  end
  return s
end

local function alive(s) return s and now < s.expires end
