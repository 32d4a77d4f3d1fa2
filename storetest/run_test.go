package storetest

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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
	for _, want := range []string{"registry ", "status ", "lease.Lister", "lease.Revoker", "lease.Watcher", "lease.Provisioner", "Close ",
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
	end := make(chan struct{})
	defer close(end)
	cfg := modelConfig("")
	cfg.Bubble = nil
	cfg.Unit = 10 * time.Millisecond
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
