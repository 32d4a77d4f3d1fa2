-- Which life of which server this is: its run, and the history that it replicates. Empty where the
-- user may not read INFO; then only the marker itself can tell that data was lost.
local function fingerprint()
  local server, replication = redis.pcall('INFO', 'server'), redis.pcall('INFO', 'replication')
  if type(server) ~= 'string' or type(replication) ~= 'string' then return '' end
  local run = string.match(server, 'run_id:(%x+)')
  local history = string.match(replication, 'master_replid:(%x+)')
  if not run or not history then return '' end
  return run .. history
end
