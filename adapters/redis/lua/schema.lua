-- Scripts without the incarnation guard (membership, statuses) check just the schema version.
local schema = redis.call('HGET', KEYS[1], 'schema')
if schema and tonumber(schema) > tonumber(ARGV[1]) then return {'schema', schema} end
