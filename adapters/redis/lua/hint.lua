-- Hints go last and by pcall: the user may lack the right to the channel, and what a script has
-- written before it fails stays written.
local function hint(kind, name)
  redis.pcall('PUBLISH', ARGV[4], kind .. ' ' .. name)
end
