-- What an operator or a dashboard asks. A fleet that has left no trace is not begun by it: that is for those
-- who work in it, and they know its MaxTTL.
local thorough, looking = false, true
