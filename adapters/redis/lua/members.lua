bury()
local reply = {'ok', int(now), int(generation)}
reply[4], reply[5] = listing()
return reply
