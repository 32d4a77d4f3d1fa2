package dashboard

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// reading is what the parts of the store answered at one look. A part that did not answer keeps what
// it said before.
type reading struct {
	at       time.Time // when the store was asked
	took     time.Duration
	leases   []lease.Lease
	members  []registry.Member
	statuses []status.Record
	// heard is when the members were last answered: their TTLLeft is as of then.
	heard     time.Time
	err       error // of this look
	catalogue []Workload
	listed    bool // the catalogue is known
	local     *coordinator.Snapshot
}

// looker reads the store for all who watch: one look at a time, whose answer all share.
type looker struct {
	mu     sync.Mutex
	flight *flight
	last   reading
	next   time.Time // a slow store is not asked earlier
	gates  [4]call.Gate
}

// flight is a look under way.
type flight struct{ done chan struct{} }

// slowShare is how much of the time the page may keep a slow store busy: one part in this many.
const slowShare = 4

// look returns the fleet as it was at most maxAge ago, or as it was last seen, where the store takes
// longer than patience or ctx ends, or is so slow that it is spared.
func (p *Page) look(ctx context.Context, maxAge, patience time.Duration) *fleet {
	f, l := p.fleet.Load(), &p.looker
	now := time.Now()
	l.mu.Lock()
	if f.tried.Add(maxAge).After(now) || l.next.After(now) && !f.tried.IsZero() {
		l.mu.Unlock()
		return f
	}
	fl := p.takeOff()
	l.mu.Unlock()
	fl.wait(ctx, patience)
	return p.fleet.Load()
}

// lookAnew waits for a look that began after the call.
func (p *Page) lookAnew(ctx context.Context, patience time.Duration) {
	l := &p.looker
	l.mu.Lock()
	earlier := l.flight
	l.mu.Unlock()
	if earlier != nil {
		earlier.wait(ctx, patience)
	}
	l.mu.Lock()
	fl := p.takeOff()
	l.mu.Unlock()
	fl.wait(ctx, patience)
}

// takeOff begins a look, or joins the one under way. The mutex is held.
func (p *Page) takeOff() *flight {
	l := &p.looker
	if l.flight == nil {
		l.flight = &flight{done: make(chan struct{})}
		go p.fly(l.flight) // it ends with its calls, which are bounded
	}
	return l.flight
}

// wait waits for the end of a look, but no longer than patience or ctx.
func (fl *flight) wait(ctx context.Context, patience time.Duration) {
	timer := time.NewTimer(patience)
	defer timer.Stop()
	select {
	case <-fl.done:
	case <-timer.C:
	case <-ctx.Done():
	}
}

// fly is one look.
func (p *Page) fly(fl *flight) {
	l := &p.looker
	l.mu.Lock()
	r := l.last
	l.mu.Unlock()
	p.read(&r)
	f := p.digest(r)
	l.mu.Lock()
	l.last, l.flight = r, nil
	l.next = r.at.Add(slowShare * min(r.took, p.cfg.CallTimeout/slowShare))
	l.mu.Unlock()
	p.publish(f)
	close(fl.done)
}

// read asks all parts of the store at once, and the callbacks.
func (p *Page) read(r *reading) {
	l := &p.looker
	r.at, r.err = time.Now(), nil
	var all sync.WaitGroup
	var errs [4]error
	ctx := context.Background()
	if p.src.lister != nil {
		all.Go(func() {
			errs[0] = ask(ctx, p, &l.gates[0], "Leases", p.src.lister.Leases, &r.leases)
		})
	}
	if p.src.statuses != nil {
		all.Go(func() {
			errs[1] = ask(ctx, p, &l.gates[1], "AllStatuses", p.src.statuses.AllStatuses, &r.statuses)
		})
	}
	if p.src.members != nil {
		all.Go(func() {
			var v registry.View
			if errs[2] = ask(ctx, p, &l.gates[2], "Members", p.src.members.Members, &v); errs[2] == nil {
				r.members, r.heard = v.Members, r.at
			}
		})
	}
	all.Go(func() { errs[3] = p.askLocal(ctx, r) })
	all.Wait()
	r.took = time.Since(r.at)
	r.err = errors.Join(errs[:]...)
}

// askLocal asks what lives in this process: user code, which may hang or panic like any other.
func (p *Page) askLocal(ctx context.Context, r *reading) error {
	type local struct {
		catalogue []Workload
		listed    bool
		snapshot  *coordinator.Snapshot
	}
	var v local
	err := ask(ctx, p, &p.looker.gates[3], "Catalogue", func(context.Context) (v local, err error) {
		if p.cfg.Coordinator != nil {
			s := p.cfg.Coordinator.Snapshot()
			v.snapshot = &s
		}
		switch {
		case p.cfg.Catalogue != nil:
			v.catalogue, v.listed = p.cfg.Catalogue(), true
		case v.snapshot != nil:
			v.catalogue, v.listed = catalogueOf(v.snapshot), true
		}
		return v, nil
	}, &v)
	if err == nil {
		r.catalogue, r.listed, r.local = sortedCatalogue(v.catalogue), v.listed, v.snapshot
	}
	return err
}

// ask makes one bounded call; into keeps its value where there is no answer.
func ask[T any](ctx context.Context, p *Page, g *call.Gate, op string, f func(context.Context) (T, error), into *T) error {
	v, err := call.Do(ctx, g, op, p.cfg.CallTimeout, f)
	if err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	*into = v
	return nil
}

func catalogueOf(s *coordinator.Snapshot) []Workload {
	out := make([]Workload, len(s.Catalogue))
	for i, w := range s.Catalogue {
		out[i] = Workload{Workload: w, Name: s.Names[w.Key]}
	}
	return out
}
