package history_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/verify/history"
)

var (
	rounds = flag.Int("rounds", 0, "histories per store; 0 means the test's own number")
	pages  = flag.String("pages", "", "where histories that cannot be explained are written; empty: the test's artifacts")
)

// trial is how a store is tried.
type trial struct {
	clients, calls int
	ttl            time.Duration
	hurry          time.Duration // a call's context ends within this now and then, so that its outcome is unknown
	forget         float64       // the probability that an answer is lost between store and client
}

// actor is one client with its memory of what it holds.
type actor struct {
	trial
	*rand.Rand
	m      lease.Manager
	owner  instance.ID
	s      lease.Session
	leases map[string]lease.Lease
	fresh  int // sessions that it may still make
}

// run makes calls.
func (a *actor) run(ctx context.Context) {
	a.begin()
	for range a.calls {
		a.act(ctx)
		switch x := a.Float64(); {
		case x < .05: // long enough to lapse
			time.Sleep(time.Duration(float64(a.ttl) * (.8 + .5*a.Float64())))
		case x < .4:
			time.Sleep(time.Duration(float64(a.ttl) * .1 * a.Float64()))
		}
	}
}

func (a *actor) begin() {
	if a.fresh == 0 {
		return // it goes on with one that is over, and is told so
	}
	a.fresh--
	a.s, a.leases = lease.NewSession(a.owner, a.ttl), map[string]lease.Lease{}
}

func (a *actor) act(ctx context.Context) {
	if a.Float64() < .03 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(a.Float64()*float64(a.hurry)))
		defer cancel()
	}
	key := fmt.Sprint("key-", a.IntN(3))
	var err error
	switch x := a.Float64(); {
	case x < .12:
		_, err = a.m.OpenSession(ctx, a.s)
	case x < .35:
		_, err = a.m.Renew(ctx, a.s)
	case x < .7:
		var g lease.Grant
		g, err = a.m.Acquire(ctx, a.s, []string{key})
		for _, l := range g.Leases {
			a.leases[l.Key] = l
		}
	case x < .85:
		if l, ok := a.leases[key]; ok {
			_, err = a.m.Verify(ctx, a.s, []lease.Lease{l})
		}
	case x < .97:
		if l, ok := a.leases[key]; ok {
			err = a.m.Release(ctx, a.s, []lease.Lease{l})
		}
	default:
		err = a.m.CloseSession(ctx, a.s)
		a.begin()
	}
	if errors.Is(err, lease.ErrSessionLapsed) {
		a.begin()
	}
}

// record lets clients of a store loose, and returns their history. open makes a manager for each.
func (tr trial) record(t *testing.T, seed uint64, open func(n int) lease.Manager) *history.Recorder {
	t.Helper()
	r := history.NewRecorder()
	var all sync.WaitGroup
	for n := range tr.clients {
		rnd := rand.New(rand.NewPCG(seed, uint64(n)))
		a := &actor{trial: tr, Rand: rnd, owner: instance.ID(fmt.Sprint("client-", n)), fresh: 24 / tr.clients}
		a.m = r.Client(&forgetful{open(n), tr.forget, rand.New(rand.NewPCG(seed, uint64(n)+1000))})
		all.Go(func() { a.run(t.Context()) })
	}
	all.Wait()
	return r
}

// check fails the test where a history cannot be explained.
func check(t *testing.T, name string, r *history.Recorder) history.Verdict {
	t.Helper()
	v, err := r.Check(time.Minute)
	switch {
	case err != nil:
		t.Fatal(err)
	case v.Undecided:
		t.Logf("%s: no verdict on %d calls, %d unknown, within a minute", name, v.Calls, v.Unknown)
	case !v.Linearizable:
		folder := *pages
		if folder == "" {
			folder = t.ArtifactDir()
		}
		path, err := v.Visualise(folder, name)
		t.Errorf("%s: no order of these %d calls explains their answers; see %s (%v)", name, v.Calls, path, err)
	}
	return v
}

// linearizable records and checks histories of stores.
func linearizable(t *testing.T, n int, tr trial, open func(round int) func(client int) lease.Manager) {
	t.Helper()
	if *rounds > 0 {
		n = *rounds
	} else if testing.Short() {
		n = min(n, 3)
	}
	seed := rand.Uint64()
	calls, unknown, undecided := 0, 0, 0
	for round := range n {
		v := check(t, fmt.Sprintf("history-%d", round), tr.record(t, seed+uint64(round), open(round)))
		calls, unknown = calls+v.Calls, unknown+v.Unknown
		if v.Undecided {
			undecided++
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("seed %d: %d histories, %d calls, %d of unknown outcome, %d histories without a verdict", seed, n, calls, unknown, undecided)
	if undecided > n/10 {
		t.Errorf("%d of %d histories without a verdict: make them shorter", undecided, n)
	}
}

var errForgotten = fmt.Errorf("the answer was lost: %w", lease.ErrUnavailable)

// forgetful loses answers, and now and then a request.
type forgetful struct {
	lease.Manager
	p   float64
	rnd *rand.Rand
}

// through makes a call whose answer may be lost.
func through[T any](f *forgetful, call func() (T, error)) (T, error) {
	var zero T
	switch x := f.rnd.Float64(); {
	case x < f.p/4:
		return zero, errForgotten // not even sent
	case x < f.p:
		_, _ = call()
		return zero, errForgotten
	}
	return call()
}

// OpenSession implements lease.Manager.
func (f *forgetful) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	return through(f, func() (lease.Incarnation, error) { return f.Manager.OpenSession(ctx, s) })
}

// Renew implements lease.Manager.
func (f *forgetful) Renew(ctx context.Context, s lease.Session) (lease.Renewal, error) {
	return through(f, func() (lease.Renewal, error) { return f.Manager.Renew(ctx, s) })
}

// Acquire implements lease.Manager.
func (f *forgetful) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	return through(f, func() (lease.Grant, error) { return f.Manager.Acquire(ctx, s, keys) })
}

// Release implements lease.Manager.
func (f *forgetful) Release(ctx context.Context, s lease.Session, leases []lease.Lease) error {
	_, err := through(f, func() (struct{}, error) { return struct{}{}, f.Manager.Release(ctx, s, leases) })
	return err
}
