-- What the server says of itself, asked where the fleet's keys are, whatever the topology.
local reply = {'ok'}
for i, section in ipairs({'server', 'memory', 'persistence', 'replication'}) do
  local text = redis.pcall('INFO', section)
  reply[i + 1] = type(text) == 'string' and text or ''
end
return reply
