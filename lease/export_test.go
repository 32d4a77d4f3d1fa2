package lease

// Ended returns for how many keys the keeper remembers a token that ended.
func (k *Keeper) Ended() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ended) + len(k.before)
}

// NewestEnded returns the newest token of the key that the keeper remembers to have ended.
func (k *Keeper) NewestEnded(key string) uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.newestEnded(key)
}

// Peek is Hold.Valid without noting what it saw.
func Peek(h *Hold) bool {
	return h.over.Load() == nil && !h.passed.Load() && h.deadline() > h.keeper.line.Now()
}
