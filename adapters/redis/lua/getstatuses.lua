-- ARGV: 3.. keys. Answers for each key: the record, and µs left; empty where none lives.
local reply = {'ok'}
for i = 3, #ARGV do
  local text = redis.call('HGET', KEYS[2], ARGV[i])
  local s = status(text)
  reply[#reply + 1] = s and text or ''
  reply[#reply + 1] = s and s.left or ''
end
return reply
