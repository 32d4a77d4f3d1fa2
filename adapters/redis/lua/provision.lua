-- KEYS: 1 marker, 2 sessions, 3 leases. Only a fleet without any trace begins without a freeze.
if redis.call('HEXISTS', KEYS[1], 'incarnation') == 0
  and redis.call('HLEN', KEYS[2]) == 0 and redis.call('HLEN', KEYS[3]) == 0 then
  redis.call('HSET', KEYS[1], 'schema', ARGV[1], 'incarnation', now, 'history', history(), 'run', run(),
    'frozen', 0, 'sessions', 0, 'leases', 0, 'floor', 0, 'maxttl', ARGV[2], 'sweep', '')
end
return {'ok'}
