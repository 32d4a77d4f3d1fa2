package coordinator

import (
	"slices"
	"strings"
	"sync"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// terms are those whose work runs here. Safe for concurrent use.
type terms struct {
	mu  sync.Mutex
	all map[string]*runner.Term
}

func (t *terms) add(term *runner.Term) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.all == nil {
		t.all = map[string]*runner.Term{}
	}
	t.all[term.Key()] = term
}

func (t *terms) remove(term *runner.Term) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.all, term.Key())
}

// unlisted returns the keys of valid terms that nobody is listed to own.
func (t *terms) unlisted(owners map[string]instance.ID) (keys []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for key, term := range t.all {
		if owners[key] == "" && term.Valid() {
			keys = append(keys, key)
		}
	}
	return keys
}

// held returns the leases of the terms that are still valid, ordered by key.
func (t *terms) held() []lease.Lease {
	t.mu.Lock()
	out := make([]lease.Lease, 0, len(t.all))
	for _, term := range t.all {
		if term.Valid() {
			out = append(out, term.Lease())
		}
	}
	t.mu.Unlock()
	slices.SortFunc(out, func(a, b lease.Lease) int { return strings.Compare(a.Key, b.Key) })
	return out
}
