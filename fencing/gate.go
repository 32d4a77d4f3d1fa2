package fencing

import (
	"context"
	"sync"

	"github.com/tenure-go/tenure/internal/fault"
)

// gates order the requests of each key: those with a newer token wait until those with older ones have
// returned, and no older one is let in meanwhile or later.
type gates struct {
	mu  sync.Mutex
	all map[string]*gate
}

// gate is one key, for as long as somebody is inside or waits. After that the store remembers.
type gate struct {
	highest uint64 // that has come by
	users   int    // inside, or waiting
	inside  map[*visit]struct{}
	changed chan struct{} // closed when somebody leaves
}

// visit is one request.
type visit struct {
	token  Token
	cancel context.CancelCauseFunc
}

// enter lets a request in once nobody with an older token is inside. The caller must leave, whatever is returned.
func (g *gates) enter(ctx context.Context, v *visit) error {
	g.mu.Lock()
	at := g.all[v.token.Key]
	if at == nil {
		if g.all == nil {
			g.all = map[string]*gate{}
		}
		at = &gate{inside: map[*visit]struct{}{}, changed: make(chan struct{})}
		g.all[v.token.Key] = at
	}
	at.users++
	if v.token.Value > at.highest {
		at.highest = v.token.Value
		for older := range at.inside {
			older.cancel(&StaleError{Token: older.token, Highest: at.highest, Overtaken: true})
		}
	}
	for {
		if highest := at.highest; v.token.Value < highest {
			g.mu.Unlock()
			return &StaleError{Token: v.token, Highest: highest}
		}
		if !at.older(v.token.Value) {
			at.inside[v] = struct{}{}
			g.mu.Unlock()
			return nil
		}
		changed := at.changed
		g.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fault.Unavailable("fencing: waiting for a request of the former owner", context.Cause(ctx))
		}
		g.mu.Lock()
	}
}

func (g *gate) older(token uint64) bool {
	for v := range g.inside {
		if v.token.Value < token {
			return true
		}
	}
	return false
}

// leave ends a visit.
func (g *gates) leave(v *visit) {
	g.mu.Lock()
	defer g.mu.Unlock()
	at := g.all[v.token.Key]
	delete(at.inside, v)
	close(at.changed)
	at.changed = make(chan struct{})
	if at.users--; at.users == 0 {
		delete(g.all, v.token.Key)
	}
}

// outdate refuses from now on, in this process, what the store says is stale.
func (g *gates) outdate(v *visit, highest uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at := g.all[v.token.Key]; at.highest < highest {
		at.highest = highest
		for older := range at.inside {
			if older != v {
				older.cancel(&StaleError{Token: older.token, Highest: highest, Overtaken: true})
			}
		}
	}
}
