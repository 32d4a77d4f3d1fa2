package storetest

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/long"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

func TestConfigIsCheckedOnce(t *testing.T) {
	open := func(*testing.T) (a, b Store) { return nil, nil }
	for want, cfg := range map[string]Config{
		"Config.Open":    {},
		"must not be":    {Open: open, Unit: -1},
		"Config.Unit":    {Open: open, Unit: time.Millisecond},
		"Config.MaxTTL":  {Open: open, MaxTTL: time.Second},
		"Config.Without": {Open: open, Without: []Capability{CanWipe}},
	} {
		if _, err := cfg.resolve(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("the error is %v, want it to name %q", err, want)
		}
	}
	cfg, err := Config{Open: open, Bubble: synctest.Test}.resolve()
	if err != nil || cfg.Unit != 200*time.Millisecond || cfg.MaxTTL != lease.DefaultMaxTTL || cfg.Lanes != 1 || cfg.Seed == 0 {
		t.Errorf("the defaults are %+v, %v", cfg, err)
	}
}

func TestCatalogueReadsWell(t *testing.T) {
	id := regexp.MustCompile(`^[A-Z][0-9]{2}$`)
	name := regexp.MustCompile(`^[a-z0-9]+(_[a-z0-9]+)+$`)
	seen := map[string]bool{}
	for _, c := range catalogue() {
		if !id.MatchString(c.id) || !name.MatchString(c.name) || seen[c.id] {
			t.Errorf("check %s_%s: want a unique letter and two digits, and words joined by underscores", c.id, c.name)
		}
		if len(c.sentence) < 30 || !strings.HasSuffix(c.sentence, ".") || c.run == nil {
			t.Errorf("%s: want a function and a full sentence, have %q", c.id, c.sentence)
		}
		seen[c.id] = true
	}
	if len(seen) < 55 {
		t.Errorf("%d checks", len(seen))
	}
}

// TestRedCheckSaysTheSentence looks at what a user sees.
func TestRedCheckSaysTheSentence(t *testing.T) {
	failed, text := trial(t, modelConfig(renewRevives), checkByID(t, "O07"))
	if !failed || !strings.Contains(text, "O07 broken: A lapsed session never comes back") || !strings.Contains(text, "seed 1") {
		t.Errorf("failed %v, and says:\n%s", failed, text)
	}
}

// bare is a store with no optional capability.
type bare struct {
	lease.Manager
	registry.Registry
	status.Store
}

func TestAbsentCapabilitiesAreSkipped(t *testing.T) {
	cfg := modelConfig("")
	cfg.Faults = Faults{}
	cfg.Without = []Capability{Registry, Status}
	cfg.Open = func(*testing.T) (Store, Store) {
		m := newModel("", cfg.MaxTTL)
		h := m.handle()
		if err := h.Provision(context.Background()); err != nil {
			panic(err)
		}
		return bare{Manager: h}, bare{Manager: m.handle()}
	}
	skipped := &skips{}
	for _, c := range catalogue() {
		t.Run(c.title(), func(t *testing.T) { one(t, cfg, c, skipped) })
	}
	list := skipped.String()
	for _, want := range []string{"registry ", "status ", "lease.Lister", "lease.Revoker", "lease.Watcher", "lease.Provisioner", "assigner.Targets", "Close ",
		"Faults.DropReply", "Faults.Freeze", "Faults.Skew", "Faults.Step", "Faults.Wipe", "Faults.Snapshot", "Faults.Kill"} {
		if !strings.Contains(list, "\n  "+want) {
			t.Errorf("the list of what was skipped lacks %q:%s", want, list)
		}
	}
}

// leaky leaves a goroutine behind for each session.
type leaky struct {
	*handle
	end chan struct{}
}

func (l leaky) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	go func() { <-l.end }()
	return l.handle.OpenSession(ctx, s)
}

func TestLeak(t *testing.T) {
	if !long.Tests() {
		t.Skip("waits for two seconds: set TENURE_LONG=1")
	}
	end := make(chan struct{})
	defer close(end)
	cfg := modelConfig("")
	cfg.Bubble = nil
	cfg.Unit = 50 * time.Millisecond
	if failed, text := trial(t, cfg, checkByID(t, "Z04")); failed {
		t.Errorf("a store without leak is said to leak:\n%s", text)
	}
	cfg.Open = func(*testing.T) (Store, Store) {
		m := newModel("", cfg.MaxTTL)
		return leaky{m.handle(), end}, leaky{m.handle(), end}
	}
	if failed, text := trial(t, cfg, checkByID(t, "Z04")); !failed || !strings.Contains(text, "leaky") {
		t.Errorf("a leak is not found, or not shown:\n%s", text)
	}
}

// slow is a store that takes longer for an Acquire than its sessions last.
type slow struct {
	*handle
	calls *atomic.Int32
	until int32
}

func (s slow) Acquire(ctx context.Context, sess lease.Session, keys []string) (lease.Grant, error) {
	if s.calls.Add(1) <= s.until {
		pause(ctx, sess.TTL+time.Millisecond)
	}
	return s.handle.Acquire(ctx, sess, keys)
}

// TestSlowMachine: a session that ran out because the check was slow is no fault of the store.
func TestSlowMachine(t *testing.T) {
	if !long.Tests() {
		t.Skip("waits for two seconds: set TENURE_LONG=1")
	}
	cfg := modelConfig("")
	cfg.Bubble, cfg.Unit, cfg.MaxTTL = nil, 100*time.Millisecond, time.Second
	run := func(t *testing.T, until int32) (tries int) {
		var calls atomic.Int32
		cfg.Open = func(*testing.T) (Store, Store) {
			tries++
			m := newModel("", cfg.MaxTTL)
			return slow{m.handle(), &calls, until}, slow{m.handle(), &calls, until}
		}
		one(t, cfg, checkByID(t, "O10"), &skips{})
		return tries
	}
	if tries := run(t, 1); tries < 2 {
		t.Errorf("slow once, the check was tried %d times, want a second time", tries)
	}
	e := newEnv(t, cfg, checkByID(t, "O10"), t)
	e.a = slow{e.a.(slow).handle, new(atomic.Int32), 99}
	if why := e.try(); !strings.Contains(string(why), "ran out while the check was at work") {
		t.Errorf("slow for good, the try says %q", why)
	}
}
