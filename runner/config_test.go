package runner

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/reserved"
	"github.com/tenure-go/tenure/lease"
)

var _ drain.Subject = (*Runner)(nil)

// Failure 69.
func TestBadInputIsRefusedBeforeAnythingHappens(t *testing.T) {
	good := func(context.Context, *Term) error { return nil }
	for _, c := range []struct {
		name  string
		spec  Spec
		cfg   Config
		owner instance.ID
		field string
	}{
		{"empty key", Spec{Work: good}, Config{}, "a", "key"},
		{"long key", Spec{Key: strings.Repeat("k", 513), Work: good}, Config{}, "a", "key"},
		{"reserved key", Spec{Key: "tenure:planner", Work: good}, Config{}, "a", "key"},
		{"key with NUL", Spec{Key: "a\x00b", Work: good}, Config{}, "a", "key"},
		{"bad name", Spec{Key: "k", Name: "\xff", Work: good}, Config{}, "a", "name"},
		{"no work", Spec{Key: "k"}, Config{}, "a", "Spec.Work"},
		{"long info", Spec{Key: "k", Work: good, Info: strings.Repeat("i", 4097)}, Config{}, "a", "status info"},
		{"bad info", Spec{Key: "k", Work: good, Info: "\xff"}, Config{}, "a", "status info"},
		{"bad restart", Spec{Key: "k", Work: good}, Config{Restart: 7}, "a", "Config.Restart"},
		{"negative restart", Spec{Key: "k", Work: good}, Config{Restart: -1}, "a", "Config.Restart"},
		{"negative min", Spec{Key: "k", Work: good}, Config{Backoff: Backoff{Min: -1}}, "a", "Backoff.Min"},
		{"negative max", Spec{Key: "k", Work: good}, Config{Backoff: Backoff{Max: -1}}, "a", "Backoff.Max"},
		{"max below min", Spec{Key: "k", Work: good}, Config{Backoff: Backoff{Min: 2, Max: 1}}, "a", "Backoff.Max"},
		{"nil observer", Spec{Key: "k", Work: good}, Config{Observers: []any{"", nil}}, "a", "Observers[1]"},
		{"bad timing", Spec{Key: "k", Work: good}, Config{Timing: lease.Timing{DrainTimeout: -1}}, "a", "Timing.DrainTimeout"},
		{"bad slice", Spec{Key: "k", Work: good}, Config{VerifySlice: -1}, "a", "VerifySlice"},
		{"no owner", Spec{Key: "k", Work: good}, Config{}, "", "instance ID"},
	} {
		t.Run(c.name, func(t *testing.T) {
			store := newStore(t)
			r, err := New(store, c.owner, c.spec, c.cfg)
			var invalid *lease.InvalidError
			if !errors.As(err, &invalid) || invalid.Field != c.field || invalid.Remedy == "" || r != nil {
				t.Errorf("%v, want a refusal of %s", err, c.field)
			}
			if len(store.calls) != 0 {
				t.Errorf("calls %v", store.calls)
			}
		})
	}
	if _, err := New(nil, "a", Spec{Key: "k", Work: good}, Config{}); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("no store: %v", err)
	}
	set := mustSet(t, newStore(t), "a", Config{})
	if err := set.Start(Spec{Key: "tenure:x", Work: good}); !errors.Is(err, lease.ErrInvalid) {
		t.Errorf("reserved key in a set: %v", err)
	}
}

func TestReservedKeysNeedAPermit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		set := mustSet(t, newStore(t), "a", Config{})
		mustStart(t, set, Spec{Key: "tenure:planner", Work: untilDrain, Reserved: reserved.Allow()})
		s := begin(t, set.Run)
		equal(t, "running", set.Running(), []string{"tenure:planner"})
		if err := s.stop(); err != nil {
			t.Error(err)
		}
	})
}

func TestDefaults(t *testing.T) {
	for _, c := range []struct{ in, want Backoff }{
		{Backoff{}, Backoff{time.Second, time.Minute}},
		{Backoff{Min: time.Hour}, Backoff{time.Hour, time.Hour}},
		{Backoff{Max: time.Millisecond}, Backoff{time.Millisecond, time.Millisecond}},
		{Backoff{Min: time.Second, Max: time.Hour}, Backoff{time.Second, time.Hour}},
	} {
		cfg, err := Config{Backoff: c.in}.resolve()
		if err != nil || cfg.Backoff != c.want {
			t.Errorf("%v: %v, %v, want %v", c.in, cfg.Backoff, err, c.want)
		}
	}
	if s, err := (Spec{Key: "k", Work: untilDrain}).check(); err != nil || s.Name != "k" {
		t.Errorf("%q, %v", s.Name, err)
	}
	for r, want := range map[Restart]string{OnFailure: "on failure", Always: "always", Never: "never", 9: "Restart(9)"} {
		if r.String() != want {
			t.Errorf("%q, want %q", r, want)
		}
	}
}

// holder is a lease for the test of a work function.
type holder struct {
	lease.Lease
	over bool
}

func (h *holder) get() lease.Lease { return h.Lease }

type fakeHold struct{ h *holder }

func (f fakeHold) Lease() lease.Lease              { return f.h.get() }
func (f fakeHold) Valid() bool                     { return !f.h.over }
func (f fakeHold) Left() time.Duration             { return time.Second }
func (f fakeHold) Check(ctx context.Context) error { return ctx.Err() }

func TestATermCanBeMadeForTheTestOfAWorkFunction(t *testing.T) {
	h := &holder{Lease: lease.Lease{Key: "k", Token: 7}}
	draining := make(chan struct{})
	term := NewTerm(fakeHold{h}, draining)
	if term.Key() != "k" || term.Token() != 7 || !term.Valid() || term.Left() != time.Second || term.Check(t.Context()) != nil || term.Lease() != h.Lease {
		t.Errorf("%+v", term.Lease())
	}
	close(draining)
	if err := untilDrain(t.Context(), term); err != nil {
		t.Error(err)
	}
	if h.over = true; term.Valid() {
		t.Error("valid")
	}
}
