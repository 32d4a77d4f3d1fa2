package fencing

import (
	"context"
	"sync"

	"github.com/tenure-go/tenure/internal/fault"
)

// Store remembers the highest token that a resource has seen for each key. Implementations are safe for concurrent use.
//
// It must last as long as what it guards: a store that forgets lets a former owner in until the present one has
// been there again. So keep it with the data, and never let entries expire.
type Store interface {
	// Advance makes token the highest seen for the key unless that is higher already, in one atomic step, and
	// returns the highest. What it returned must not be lost by a crash. It may be called again with the same
	// arguments, and returns promptly once ctx ends. An error means that the outcome is unknown.
	Advance(ctx context.Context, key string, token uint64) (highest uint64, err error)
}

// Memory is a Store in memory, for a resource whose own state is in memory as well, and for tests. The zero value is
// ready. It grows by one entry for each key ever seen.
type Memory struct {
	mu      sync.Mutex
	highest map[string]uint64
}

// Advance implements Store.
func (m *Memory) Advance(ctx context.Context, key string, token uint64) (uint64, error) {
	if err := ctx.Err(); err != nil {
		return 0, fault.Unavailable("fencing: advance", context.Cause(ctx))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.highest == nil {
		m.highest = map[string]uint64{}
	}
	m.highest[key] = max(m.highest[key], token)
	return m.highest[key], nil
}
