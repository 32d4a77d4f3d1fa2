package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

// plan is n sets of m keys each.
func plan(n, m int) []assigner.Set {
	sets := make([]assigner.Set, n)
	for i := range sets {
		sets[i] = assigner.Set{Instance: instance.ID(fmt.Sprintf("instance-%05d", i))}
		for k := range m {
			sets[i].Keys = append(sets[i].Keys, fmt.Sprintf("workload-%06d", i*m+k))
		}
	}
	return sets
}

func write(s *redisstore.Store, head assigner.Head, sets []assigner.Set) error {
	for part, gone := range assigner.Batches(sets, nil) {
		if err := s.PutTargets(ctx, head, part, gone); err != nil {
			return err
		}
	}
	return nil
}

// A plan too large for one page is read as it was at one moment, also while it is being written.
func TestLargePlanIsReadWhole(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(), redisstore.Config{Fleet: "fleet"})
	reader := open(t, server.Client(), redisstore.Config{Fleet: "fleet"})
	head := assigner.Head{Token: 7, Epoch: 1, Planner: "p", History: []byte("past")}
	sets := plan(2300, 3)
	must(t, write(s, head, sets))
	got, all, err := reader.AllTargets(ctx)
	must(t, err)
	if len(all) != len(sets) || string(got.History) != "past" {
		t.Fatalf("of %d sets %d came back, and the history %q", len(sets), len(all), got.History)
	}

	// Each write moves one key between two sets far apart: a reader who mixes two moments sees it twice or never.
	stop := make(chan struct{})
	var writing sync.WaitGroup
	writing.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			pair := []assigner.Set{{Instance: "instance-00000"}, {Instance: "instance-02299"}}
			pair[i%2].Keys = []string{"ball"}
			if err := s.PutTargets(ctx, head, pair, nil); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for range 10 {
		_, all, err := reader.AllTargets(ctx)
		if err != nil || len(all) != len(sets) {
			t.Errorf("%d sets, %v", len(all), err)
			break
		}
		// Before the first write there are three keys in each.
		if n := len(all[0].Keys) + len(all[len(all)-1].Keys); n != 1 && n != 6 {
			t.Errorf("the first and the last set have %q and %q: of two moments", all[0].Keys, all[len(all)-1].Keys)
		}
	}
	close(stop)
	writing.Wait()
}

// What somebody has damaged by hand reads as lost, and the next plan mends it.
func TestUnreadableTargetsCountAsLost(t *testing.T) {
	server := redistest.Start(t)
	s := open(t, server.Client(), redisstore.Config{Fleet: "fleet"})
	head := assigner.Head{Token: 7, Epoch: 1, Planner: "the planner", Digest: 9}
	must(t, write(s, head, plan(3, 2)))
	for _, bad := range []string{"", "x", "1 2", "1 2 3", "x 2 3 k", "99999999999999999999999 1 1 k"} {
		server.Admin("HSET", "{tenure:fleet}:targets", "i:instance-00001", bad)
		_, set, err := s.TargetsOf(ctx, "instance-00001")
		if err != nil || set.Found {
			t.Errorf("%q reads as %+v, %v", bad, set, err)
		}
		_, all, err := s.AllTargets(ctx)
		if err != nil || len(all) != 2 {
			t.Errorf("%q: AllTargets answers %d sets, %v", bad, len(all), err)
		}
	}
	for _, bad := range []string{"x", "1 2 3 4 5 6", "a b c d e f p"} {
		server.Admin("HSET", "{tenure:fleet}:targets", "head", bad)
		got, _, err := s.AllTargets(ctx)
		if err != nil || got.Token != 0 {
			t.Errorf("the head %q reads as %+v, %v", bad, got, err)
		}
		must(t, write(s, head, plan(3, 2)))
		got, all, err := s.AllTargets(ctx)
		if err != nil || got.Token != 7 || got.Digest != 9 || got.Planner != "the planner" || len(all) != 3 {
			t.Errorf("after %q, written again: %+v, %d sets, %v", bad, got, len(all), err)
		}
	}
	server.Admin("SET", "{tenure:fleet}:targets", "someone else's")
	err := write(s, head, nil)
	if !errors.Is(err, assigner.ErrUnavailable) || !strings.Contains(err.Error(), "Config.Prefix") {
		t.Errorf("on a key of another kind PutTargets answers %v", err)
	}
}

// BenchmarkTargets writes and reads the plan of 1 000 instances with 100 workloads each.
func BenchmarkTargets(b *testing.B) {
	server := redistest.Start(b)
	s := open(b, server.Client(), redisstore.Config{Fleet: "bench"})
	head := assigner.Head{Token: 7, Epoch: 1, Planner: "p"}
	sets := plan(1000, 100)
	b.Run("batch of 500", func(b *testing.B) {
		timed(b, server, func() error { return s.PutTargets(ctx, head, sets[:500], nil) })
	})
	if err := write(s, head, sets); err != nil {
		b.Fatal(err)
	}
	b.Run("one set", func(b *testing.B) {
		timed(b, server, func() error { _, _, err := s.TargetsOf(ctx, "instance-00500"); return err })
	})
	b.Run("all", func(b *testing.B) {
		timed(b, server, func() error { _, _, err := s.AllTargets(ctx); return err })
	})
	b.Logf("memory of the plan: %v bytes", server.Admin("MEMORY", "USAGE", "{tenure:bench}:targets", "SAMPLES", "0"))
}
