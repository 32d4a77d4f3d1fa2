-- Sessions: id -> "<expires µs> <opened µs> <revision>". A session is alive before it expires; a
-- closed one expired when it was closed. A lapsed one is remembered for MaxTTL.
local sessions = {}

local function session(id)
  if sessions[id] == nil then
    local text = redis.call('HGET', KEYS[2], id)
    local expires, opened, revision = string.match(text or '', '^(%d+) (%d+) (%d+)$')
    sessions[id] = expires and {
      expires = tonumber(expires), opened = tonumber(opened), revision = tonumber(revision)
    } or false
    if text and not expires then
      damaged = true
      redis.call('HDEL', KEYS[2], id)
    elseif expires and sessions[id].expires > now + most then
      sessions[id].expires = now + most -- the clock was set back
      redis.call('HSET', KEYS[2], id, int(now + most) .. ' ' .. opened .. ' ' .. revision)
    end
  end
  return sessions[id]
end

local function put_session(id, s)
  sessions[id] = s
  open = open + redis.call('HSET', KEYS[2], id, int(s.expires) .. ' ' .. int(s.opened) .. ' ' .. int(s.revision))
end

local function alive(s) return s and now < s.expires end
