package tenure_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure"
	"github.com/tenure-go/tenure/memory"
)

func TestBadArgumentsAreRefusedAtOnce(t *testing.T) {
	store, err := memory.New(memory.Config{})
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	one := func(context.Context, *tenure.Term) error { return nil }
	many := func(context.Context, *tenure.Term, string) error { return nil }
	for what, err := range map[string]error{
		"no store":       tenure.Singleton(ctx, nil, "k", one),
		"no key":         tenure.Singleton(ctx, store, "", one),
		"reserved key":   tenure.Singleton(ctx, store, "tenure:k", one),
		"no work":        tenure.Singleton(ctx, store, "k", nil),
		"shard no store": tenure.Shard(ctx, nil, []string{"k"}, many),
		"shard no work":  tenure.Shard(ctx, store, []string{"k"}, nil),
		"empty key":      tenure.Shard(ctx, store, []string{"k", ""}, many),
		"key twice":      tenure.Shard(ctx, store, []string{"k", "l", "k"}, many),
	} {
		if !errors.Is(err, tenure.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// A store that nobody has provisioned grants nothing at first: whoever waits is told why.
func TestSingletonSaysWhatItWaitsFor(t *testing.T) {
	out := logged(t)
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Config{Incarnations: true})
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		err = tenure.Singleton(t.Context(), store, "k", func(context.Context, *tenure.Term) error { return nil })
		if waited := time.Since(begin); err != nil || waited < 15*time.Second {
			t.Errorf("started after %v: %v", waited, err)
		}
	})
	if !strings.Contains(out.String(), "Provision") || !strings.Contains(out.String(), "frozenFor=15s") {
		t.Errorf("the log does not say why it waited:\n%s", out)
	}
}

// So does Shard, which tells who plans, and what starts here, as well.
func TestShardLogsWhatHappens(t *testing.T) {
	out := logged(t)
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Config{Incarnations: true})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		err = tenure.Shard(ctx, store, []string{"feed"}, func(_ context.Context, term *tenure.Term, _ string) error {
			stop()
			<-term.Draining()
			return nil
		})
		if err != nil {
			t.Error(err)
		}
	})
	for _, want := range []string{"Provision", "msg=\"work started\" key=feed", "tenure:planner"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log does not tell of %q:\n%s", want, out)
		}
	}
}

// logged sends the default logger's lines to a buffer until the test ends.
func logged(t *testing.T) *bytes.Buffer {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	var out bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&out, nil)))
	return &out
}

// Two lists with nothing in common may be sharded side by side by one process.
func TestTwoShardsInOneProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store, err := memory.New(memory.Config{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		seen, done := make(chan string, 10), make(chan error, 2)
		work := func(_ context.Context, term *tenure.Term, key string) error {
			seen <- key
			<-term.Draining()
			return nil
		}
		for _, list := range [][]string{{"a", "b"}, {"c", "d"}} {
			go func() { done <- tenure.Shard(ctx, store, list, work) }()
		}
		time.Sleep(time.Minute)
		if len(seen) != 4 {
			t.Errorf("%d starts, want each workload once", len(seen))
		}
		stop()
		for range 2 {
			if err := <-done; err != nil {
				t.Error(err)
			}
		}
	})
}

// The names of the contracts are names for the same types.
var (
	_ tenure.LeaseManager        = (*memory.Store)(nil)
	_ tenure.InstanceRegistry    = (*memory.Store)(nil)
	_ tenure.WorkloadStatusStore = (*memory.Store)(nil)
	_ tenure.Store               = (*memory.Store)(nil)
)
