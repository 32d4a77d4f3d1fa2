-- Which life of which server this is: the history that it replicates (new at every restart of a
-- master, and at every promotion of a replica), and its run. Empty where the user may not read INFO; then
-- only the marker itself can tell that data was lost.
local function info(section, field)
  local text = redis.pcall('INFO', section)
  if type(text) ~= 'string' then return '' end
  local _, at = string.find(text, field, 1, true)
  return at and string.match(text, '^%x+', at + 1) or ''
end

local function history() return info('replication', 'master_replid:') end
local function run() return info('server', 'run_id:') end
