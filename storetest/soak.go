package storetest

import (
	"math/rand/v2"
	"sync"
	"time"
)

func soak() []check {
	return []check{
		{id: "P01", name: "a_long_random_run_breaks_no_rule", run: p01, slow: true, needs: []Capability{Sessions},
			sentence: "Whatever clients and faults do: tokens only grow, holders never overlap, nothing ended comes back, and at last every key is free."},
	}
}

// p01 mixes sessions of different lives with every fault that loses no data.
func p01(e *env) {
	h := newHistory()
	seed := e.rnd.Uint64()
	end := time.Now().Add(15 * e.unit)
	keys := e.keys(50)
	lives := []time.Duration{2 * e.unit, 4 * e.unit, 8 * e.unit}
	workers := make([]*worker, 12)
	var wg sync.WaitGroup
	for i := range workers {
		w := e.worker(h, i, seed, lives[i%len(lives)])
		w.mortal, w.shaky = true, true
		workers[i] = w
		wg.Go(func() {
			for time.Now().Before(end) && w.broken == nil {
				ctx, cancel := e.within(e.unit)
				w.step(ctx, keys)
				cancel()
				pause(e.ctx, time.Duration(w.rnd.Int64N(int64(e.unit/10))))
			}
		})
	}
	e.harass(rand.New(rand.NewPCG(seed, 1<<40)), end)
	wg.Wait()
	for _, w := range workers {
		e.must(w.broken, "a call in the long run")
	}
	e.judge(h)
	last := e.session(e.a, e.cfg.MaxTTL)
	e.eventually(30*e.unit, func() bool { // the longest of the lives, and what is still under way
		e.renewed(e.a, last)
		got, _, err := e.acquire(e.b, last, keys...)
		e.must(err, "Acquire after the long run")
		return len(got) == len(keys)
	}, "all clients are gone, and some of %d keys are still refused", len(keys))
}

// harass hurts the store now and then until the end.
func (e *env) harass(r *rand.Rand, end time.Time) {
	f := e.cfg.Faults
	for time.Now().Before(end) {
		s := e.a
		if r.IntN(2) == 0 {
			s = e.b
		}
		switch p := r.IntN(3); {
		case p == 0 && f.Freeze != nil:
			thaw := f.Freeze(e.t, s)
			e.sleep(time.Duration(r.Int64N(int64(2 * e.unit))))
			thaw()
		case p == 1 && f.DropReply != nil:
			f.DropReply(e.t, s)
		case p == 2 && f.Delay != nil:
			f.Delay(e.t, s, time.Duration(r.Int64N(int64(e.unit/4))))
		}
		e.sleep(e.unit/10 + time.Duration(r.Int64N(int64(e.unit/2))))
	}
	if f.Delay != nil {
		e.each(func(s Store) { f.Delay(e.t, s, 0) })
	}
}
