-- Targets are one hash, so that what guards the sets can only be lost together with them:
--   head     "<token> <epoch> <incarnation> <digest> <written µs> <number of writes> <planner>"
--   history  the planner's bytes
--   i:<id>   a set: "<token> <epoch> <incarnation> <keys>", with a NUL between keys
-- KEYS: 1 marker, 2 targets.
local head = redis.call('HGET', KEYS[2], 'head') or ''
