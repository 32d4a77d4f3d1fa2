package resolver

import "fmt"

// Remembered returns how many keys r knows something of.
func Remembered(r *Resolver) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.entries)
}

// Fill makes r remember n keys that nobody will ask for again.
func Fill(r *Resolver, n int) {
	now := r.line.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range n {
		r.makeRoom()
		r.entries[fmt.Sprint(i)] = &entry{touched: now}
	}
}
