package tenuretest_test

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/tenuretest"
)

// storm does everything that a fleet can do, at random, and then expects it to settle. The seed replays it.
func storm(t *testing.T, seed uint64) {
	r := rand.New(rand.NewPCG(seed, 0))
	f := tenuretest.NewFleet(t, jobs(5), nil, tenuretest.FleetConfig{})
	var up, asleep []instance.ID
	next := byte('a')
	start := func() {
		id := instance.ID(next)
		next++
		f.Start(id)
		up = append(up, id)
	}
	take := func(from *[]instance.ID) instance.ID {
		i := r.IntN(len(*from))
		id := (*from)[i]
		*from = slices.Delete(*from, i, i+1)
		return id
	}
	for range 3 {
		start()
	}
	for range 30 {
		pass(time.Duration(r.Int64N(int64(8 * time.Second))))
		switch what := r.IntN(8); {
		case len(up) < 2:
			start()
		case what == 0:
			f.Kill(take(&up))
		case what == 1:
			f.Stop(take(&up))
		case what == 2:
			id := take(&up)
			f.Pause(id)
			asleep = append(asleep, id)
		case what == 3 && len(asleep) > 0:
			id := take(&asleep)
			f.Resume(id)
			up = append(up, id)
		case what == 4:
			f.Cut(up[r.IntN(len(up))])
		case what == 5:
			f.Heal(up[r.IntN(len(up))])
		case what == 6:
			f.Faults(up[0]).Wipe()
		default:
			kinds := []tenuretest.Kind{tenuretest.Fail, tenuretest.HalfDone, tenuretest.Hang, tenuretest.Late, tenuretest.LateAnswer}
			fault := tenuretest.Fault{Kind: kinds[r.IntN(len(kinds))], Times: 1 + r.IntN(20), For: time.Duration(1 + r.Int64N(int64(20*time.Second)))}
			if fault.Kind == tenuretest.Late || fault.Kind == tenuretest.LateAnswer {
				fault.Delay = time.Duration(1 + r.Int64N(int64(12*time.Second)))
			}
			f.Faults(up[r.IntN(len(up))]).Inject(fault)
		}
	}
	for _, id := range up {
		f.Heal(id)
	}
	for _, id := range asleep {
		f.Resume(id)
		f.Heal(id)
	}
	f.Settled()
	if len(f.Owners()) != 5 {
		t.Errorf("%v", f.Owners())
	}
}
