package resolver

import (
	"errors"
	"time"
)

// mostKeys is how many keys one read asks for: more than a fleet's hot ones, few enough for one call.
const mostKeys = 5_000

// wanted returns the keys that the next read asks for: the one that it is for, and those that somebody wanted
// since they were read, so that all hot keys together cost one read per MaxAge. The mutex is held.
func (r *Resolver) wanted(key string) []string {
	if r.cfg.Leases != nil {
		return nil // the list has them all
	}
	keys := []string{key}
	for k, e := range r.entries {
		if e.wanted && k != key && len(keys) < mostKeys {
			keys = append(keys, k)
		}
	}
	return keys
}

// land puts the answer of a read into memory.
func (r *Resolver) land(f *flight) {
	now := r.line.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flight = nil
	if f.err != nil {
		r.retryAt = now + r.cfg.Retry
		return
	}
	r.retryAt, r.fleet = 0, f.fleet
	keys := f.keys
	if r.cfg.Leases != nil {
		keys = keys[:0]
		for k := range r.entries {
			keys = append(keys, k)
		}
	}
	for _, k := range keys {
		e := r.entries[k]
		if e == nil {
			continue // its room was needed meanwhile
		}
		e.owner, e.asked, e.sent = f.owners[k], f.turn, f.sent
		e.wanted = e.touched > f.sent
	}
	r.forget(now)
}

// forget drops what nobody asked for of late. The mutex is held.
func (r *Resolver) forget(now time.Duration) {
	idle := r.cfg.MaxStale + 2*r.cfg.CallTimeout // nobody waits for a read for longer than one before it and its own
	for k, e := range r.entries {
		if now-e.touched > idle {
			delete(r.entries, k)
		}
	}
}

// makeRoom keeps memory bounded whatever keys are asked for. The mutex is held.
func (r *Resolver) makeRoom() {
	for k := range r.entries {
		if len(r.entries) < mostEntries {
			return
		}
		delete(r.entries, k)
	}
}

// waits reports whether asking again may help.
func waits(err error) bool {
	return errors.Is(err, ErrNoOwner) || errors.Is(err, ErrNoAddress) || errors.Is(err, ErrUnavailable)
}
