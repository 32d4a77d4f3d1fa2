package coordinator_test

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/long"
)

var (
	churnSeed = flag.Uint64("churn.seed", 0, "replay one random run of TestChurn")
	churnRuns = flag.Int("churn.runs", long.Or(3, 1), "random runs of TestChurn per assigner")
)

// A fleet under random joins, leaves, crashes, drains, slow, failing and hanging calls and a changing
// catalogue never has two owners of a key (the witness sees to it), and when all is quiet everything
// runs, evenly.
func TestChurn(t *testing.T) {
	seeds := []uint64{*churnSeed}
	if *churnSeed == 0 {
		seeds = nil
		for range *churnRuns {
			seeds = append(seeds, rand.Uint64())
		}
	}
	for _, seed := range seeds {
		for _, a := range []assigner.Assigner{assigner.Sticky{}, assigner.Balanced{}, assigner.Rendezvous{}, assigner.Weighted{}} {
			t.Run(fmt.Sprintf("%T/%d", a, seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { churn(t, seed, a) })
			})
		}
	}
}

func churn(t *testing.T, seed uint64, a assigner.Assigner) {
	r := rand.New(rand.NewPCG(seed, 1))
	f := newFleet(t, 12)
	f.cfg.Clock = nil // the machine itself, as in a process
	f.cfg.Assigner = a
	f.linger = time.Duration(r.IntN(3)) * time.Second
	f.join("start")
	next := 0
	for range long.Or(60, 25) {
		id := ""
		if ids := slices.Sorted(maps.Keys(f.nodes)); len(ids) > 0 {
			id = ids[r.IntN(len(ids))]
		}
		switch what := r.IntN(10); {
		case what < 3 || id == "":
			next++
			f.join(fmt.Sprint("n", next))
		case what == 3:
			n := f.nodes[id]
			delete(f.nodes, id)
			n.stop()
		case what == 4:
			f.crash(id)
			f.nodes[id].stop()
			delete(f.nodes, id)
		case what == 5:
			n := f.nodes[id]
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			_ = n.BeginDrain(ctx)
			cancel()
		case what == 6:
			f.disturb(r, f.nodes[id])
		case what == 7:
			f.nodes[id].fault.heal()
		case what == 8:
			f.keys = append(slices.Clone(f.keys[1:]), fmt.Sprint("late-", next, r.IntN(1000)))
			for _, n := range f.nodes {
				if err := n.SetWorkloads(f.catalogue()); err != nil {
					t.Error(err)
				}
			}
		default:
			after(time.Duration(r.IntN(30)) * time.Second)
		}
		after(time.Duration(r.IntN(4000)) * time.Millisecond)
	}
	// Quiet: all are healthy, and there is somebody who may work.
	for _, n := range f.nodes {
		n.fault.heal()
	}
	f.join("end")
	after(2 * time.Minute)
	var able []string
	for id, n := range f.nodes {
		if !n.IsDraining() {
			able = append(able, id)
		}
	}
	if got := f.witness.owners(); len(got) != len(f.keys) {
		t.Errorf("%d of %d workloads run at the end", len(got), len(f.keys))
	}
	if _, random := a.(assigner.Rendezvous); !random {
		f.balanced(able...)
	}
	f.close()
}

// disturb makes an instance's calls fail, hang or take their time.
func (f *fleet) disturb(r *rand.Rand, n *node) {
	ops := []string{"Heartbeat", "Statuses", "PutStatus", "Renew", "Acquire", "Release", "Verify", "Leases", "OpenSession"}
	op, share := ops[r.IntN(len(ops))], r.IntN(4)
	n.fault.set(func() {
		switch r.IntN(3) {
		case 0:
			n.fault.fail = func(o string) error {
				if o == op || share == 0 {
					return errBroken
				}
				return nil
			}
		case 1:
			n.fault.stall = func(o string) bool { return o == op }
		case 2:
			n.fault.delay = func(string) time.Duration { return time.Duration(share) * 400 * time.Millisecond }
		}
	})
}
