-- What grants nothing looks at the history alone: it is cheaper, and a difference that only the run
-- shows is found by the next grant, before it is made.
local thorough, looking = false, false
