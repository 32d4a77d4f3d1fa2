package dashboard

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/lease"
)

// Page shows a fleet. It is an http.Handler; mount it under any path that ends in a slash. It is safe for
// concurrent use.
type Page struct {
	cfg      Config
	timed    bool // the fleet's timing is known
	src      source
	assigner assigner.Assigner

	fleet    atomic.Pointer[fleet]
	looker   looker
	past     *past
	gate     call.Gate // of actions
	thoughts call.Gate // of explanations

	streams atomic.Int64
	mu      sync.Mutex
	news    chan struct{} // closed at the next look
	ended   chan struct{} // closed by Close
}

// New returns the page of the fleet in this store. It does no I/O. Parts of a coordinator.Separate may be
// nil; what they would tell is not shown. Errors match lease.ErrInvalid and name the field.
func New(store coordinator.Store, cfg Config) (*Page, error) {
	src, err := open(store)
	if err != nil {
		return nil, err
	}
	timed := cfg.Timing != (lease.Timing{}) || cfg.Coordinator != nil
	if cfg, err = cfg.resolve(); err != nil {
		return nil, err
	}
	p := &Page{
		cfg: cfg, timed: timed, src: src, assigner: cfg.Assigner, past: newPast(),
		news: make(chan struct{}), ended: make(chan struct{}),
	}
	if p.assigner == nil {
		p.assigner = assigner.Sticky{}
		if src.lister == nil {
			p.assigner = assigner.Balanced{}
		}
	}
	if timed {
		p.past.windDown = cfg.Timing.DrainTimeout + cfg.Timing.HardStop + time.Second
	}
	p.fleet.Store(&fleet{})
	return p, nil
}

// Run keeps looking while nobody watches, so that the timeline has no holes, and follows the store's hints, so
// that changes show at once. While workloads move it looks more often, so that it sees how long that takes.
// The page works without it. It returns nil when ctx ends.
func (p *Page) Run(ctx context.Context) error {
	hint := make(chan struct{}, 1)
	var side sync.WaitGroup
	for _, w := range p.src.watchers {
		side.Go(func() { p.follow(ctx, w, hint) })
	}
	defer side.Wait()
	gap := min(p.cfg.Refresh, 100*time.Millisecond) // between looks in lively times
	var lively time.Time                            // until then
	for {
		began := p.fleet.Load()
		f := p.look(ctx, gap, p.cfg.CallTimeout)
		now := time.Now()
		if f.version != began.version || f.restless() {
			lively = now.Add(p.lively())
		}
		wait := p.cfg.Background
		if now.Before(lively) {
			wait = gap
		}
		tick := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			tick.Stop()
			return nil
		case <-tick.C:
		case <-hint:
			tick.Stop()
			lively = now.Add(p.lively())
			if !rest(ctx, gap) {
				return nil
			}
		}
	}
}

// restless reports whether something is about to happen of which no hint will tell: an instance that is silent
// expires, and what it had is taken. What stays without an owner for long is no such thing.
func (f *fleet) restless() bool {
	const long = 30 * time.Second
	return f.err == nil && (f.counts.Unowned > 0 && f.unowned < long ||
		slices.ContainsFunc(f.members, func(m Member) bool { return m.Late }))
}

// lively is for how long something may follow from a change: a member that joined gets work when the fleet
// has settled, one that is lost loses its leases soon.
func (p *Page) lively() time.Duration { return min(p.cfg.Timing.LeaseTTL, 5*time.Second) }

// follow listens to one store until ctx ends.
func (p *Page) follow(ctx context.Context, w lease.Watcher, hint chan<- struct{}) {
	for ctx.Err() == nil {
		_ = watch(ctx, w, func(lease.Change) { // why it ended does not matter: without hints the page looks all the same
			select {
			case hint <- struct{}{}:
			default:
			}
		})
		if !rest(ctx, p.cfg.Background) {
			return
		}
	}
}

// watch calls a store's Watch, whose panic must not end the process.
func watch(ctx context.Context, w lease.Watcher, f func(lease.Change)) error {
	defer func() { _ = recover() }()
	return w.Watch(ctx, f)
}

// rest waits, and reports whether ctx is still alive.
func rest(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

// Close ends all live views and refuses new ones; the pages themselves are served on. Give it to
// http.Server.RegisterOnShutdown, since Shutdown waits for what is open.
func (p *Page) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.ended:
	default:
		close(p.ended)
	}
}

// publish shows a fleet to all who wait for news.
func (p *Page) publish(f *fleet) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fleet.Store(f)
	close(p.news)
	p.news = make(chan struct{})
}

// nextNews is closed at the next look, whoever asks for it.
func (p *Page) nextNews() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.news
}
