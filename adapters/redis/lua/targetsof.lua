-- ARGV: 3 the field of the set. Answers the head and the set, each empty where there is none.
return {'ok', head, redis.call('HGET', KEYS[2], ARGV[3]) or ''}
