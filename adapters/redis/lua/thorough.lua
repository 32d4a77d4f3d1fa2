-- What may lead to a grant looks at both parts of the fingerprint.
local thorough, looking = true, false
