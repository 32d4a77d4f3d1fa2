-- Everything that is needed to tell which records live. The caller sorts it out, off the server.
return {'ok', now, redis.call('HGETALL', KEYS[2]), redis.call('HGETALL', KEYS[3])}
