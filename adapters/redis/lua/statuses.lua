-- Statuses: key -> "<token> <since µs> <owner's life µs> <state> <length of the owner's id> <owner><body>".
-- Owners: id -> "<expires µs> <life µs>". A record lives as long as that life of its owner: one that
-- lapsed and begins anew does not bring its old records back.
-- KEYS: 1 marker, 2 statuses, 3 owners.
local owners = {}

local function owner(id)
  if owners[id] == nil then
    local expires, life = string.match(redis.call('HGET', KEYS[3], id) or '', '^(%d+) (%d+)$')
    owners[id] = expires and {expires = tonumber(expires), life = life} or false
  end
  return owners[id]
end

local function status(text)
  if not text then return nil end
  local token, since, life, state, length, at = string.match(text, '^(%d+) (%d+) (%d+) (%l+) (%d+) ()')
  if not token then return nil end
  local id = string.sub(text, at, at + tonumber(length) - 1)
  local o = owner(id)
  if not o or o.life ~= life or o.expires <= now then return nil end
  return {token = token, since = since, state = state, owner = id, left = o.expires - now}
end
