-- Everything that is needed to tell which leases are held. The caller sorts it out, off the server.
local reply = answer('ok')
reply[6] = redis.call('HGETALL', KEYS[2])
reply[7] = redis.call('HGETALL', KEYS[3])
return reply
