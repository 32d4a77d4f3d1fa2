bury()
local reply = {'ok', now, generation}
reply[4], reply[5] = listing()
return reply
