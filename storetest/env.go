package storetest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/tick"
)

// env is what a check works with: two handles on a fresh fleet, the grain of time, and helpers
// that fail the check with a sentence.
type env struct {
	reporter
	t      *testing.T // for Open and the fault functions only; failures go to the reporter
	cfg    Config
	check  check
	a, b   Store
	unit   time.Duration
	ctx    context.Context
	cancel context.CancelFunc
	rnd    *rand.Rand
	serial atomic.Int64

	ends    map[string]time.Time // per session: before this it cannot have lapsed
	holders map[string]string    // per key: the session that it was granted to last
	lapses  []lease.Lapse        // what grants told of the terms before
}

// patience bounds every call and wait of a check, so that a store that hangs fails instead of hanging the run.
const patience = 90 * time.Second

func newEnv(t *testing.T, cfg Config, c check, r reporter) *env {
	e := &env{reporter: r, t: t, cfg: cfg, check: c, unit: cfg.Unit, rnd: c.random(cfg.Seed), ends: map[string]time.Time{}, holders: map[string]string{}}
	e.ctx, e.cancel = context.WithTimeout(context.Background(), patience)
	t.Cleanup(e.cancel)
	e.a, e.b = e.openFleet(!c.virgin)
	return e
}

// openFleet opens another fleet; provisioned, it grants from the first moment on.
func (e *env) openFleet(provision bool) (a, b Store) {
	a, b = e.cfg.Open(e.t)
	if a == nil || b == nil {
		e.t.Fatal("storetest: Config.Open returned a nil handle; it must return two")
	}
	if p, ok := a.(lease.Provisioner); ok && provision {
		e.must(p.Provision(e.ctx), "Provision of a fresh fleet")
	}
	return a, b
}

// missing returns the first capability that the check needs and the store lacks.
func (e *env) missing() Capability {
	for _, c := range e.check.needs {
		if !e.has(c) {
			return c
		}
	}
	return ""
}

func (e *env) has(c Capability) bool {
	if slices.Contains(e.cfg.Without, c) {
		return false
	}
	switch c {
	case Sessions, Registry, Status, Lapses:
		return true
	case Lists:
		_, ok := e.a.(lease.Lister)
		return ok
	case Revokes:
		_, ok := e.a.(lease.Revoker)
		return ok
	case Watches:
		_, ok := e.a.(lease.Watcher)
		return ok
	case Provisions:
		_, ok := e.a.(lease.Provisioner)
		return ok
	case Targets:
		_, ok := e.a.(assigner.Targets)
		return ok
	case Ticks:
		_, ok := e.a.(tick.Ticker)
		return ok
	case Closes:
		return closer(e.a) != nil
	}
	return e.cfg.Faults.have()[c]
}

// closer returns the handle's Close as a function, or nil where it has none.
func closer(s Store) func() {
	switch s := s.(type) {
	case interface{ Close() error }:
		return func() { _ = s.Close() }
	case interface{ Close() }:
		return s.Close
	}
	return nil
}

func (e *env) run() { e.check.run(e) }

// explain says which sentence of the contract was broken, once a check has failed.
func (e *env) explain(failed func() bool) {
	e.Helper()
	if failed() {
		e.Logf("%s broken: %s (seed %d)", e.check.id, e.check.sentence, e.cfg.Seed)
	}
}

// must fails the check where err is not nil.
func (e *env) must(err error, format string, args ...any) {
	e.Helper()
	if err != nil {
		e.Fatalf("%s: %v", fmt.Sprintf(format, args...), err)
	}
}

// that fails the check where ok is false.
func (e *env) that(ok bool, format string, args ...any) {
	e.Helper()
	if !ok {
		e.Fatalf(format, args...)
	}
}

// sleep waits for d. In a bubble the time is virtual.
func (e *env) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-e.ctx.Done():
		e.Fatalf("the check did not end within %v", patience)
	}
}

// sleepUntil waits until the moment, and not at all where it has passed.
func (e *env) sleepUntil(at time.Time) { e.sleep(time.Until(at)) }

// long is a TTL that does not run out while a check works.
func (e *env) long() time.Duration { return min(e.cfg.MaxTTL, 100*e.unit) }

// ages is a life of a member or a status that does not run out while a check works. MaxTTL is no limit for it.
func (e *env) ages() time.Duration { return time.Hour }

// key returns a fresh key, and owner a fresh instance.
func (e *env) key() string          { return fmt.Sprintf("key-%d", e.serial.Add(1)) }
func (e *env) owner() instance.ID   { return instance.New() }
func (e *env) keys(n int) []string  { return makeKeys("key", n) }
func (e *env) each(f func(s Store)) { f(e.a); f(e.b) }

// eventually tries f until it says true. It fails the check after d: pass an upper bound with slack.
func (e *env) eventually(d time.Duration, f func() bool, format string, args ...any) {
	e.Helper()
	end := time.Now().Add(d)
	for !f() {
		if time.Now().After(end) {
			e.Fatalf("not within %v: %s", d, fmt.Sprintf(format, args...))
		}
		e.sleep(min(e.unit/20, 10*time.Millisecond))
	}
}

func makeKeys(prefix string, n int) []string {
	keys := make([]string, n)
	for i := range keys {
		keys[i] = fmt.Sprintf("%s-%05d", prefix, i)
	}
	return keys
}
