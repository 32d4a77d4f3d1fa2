package sim

import (
	"math/rand/v2"
	"slices"
	"time"
)

// generator makes a schedule from a seed.
type generator struct {
	*rand.Rand
	s schedule
}

// generate is a pure function of the seed.
func generate(seed uint64) schedule {
	g := generator{rand.New(rand.NewPCG(seed, 0x7e4a)), schedule{Seed: seed}}
	s := &g.s
	s.Slots, s.Keys = 2+g.IntN(4), 1+g.IntN(7)
	s.Listed, s.Quiet = g.IntN(4) > 0, g.IntN(2) == 0
	s.Length = span(120 * time.Second)
	if g.IntN(3) > 0 {
		s.Loss, s.Half, s.Twice = g.pick(0, .01, .05), g.pick(0, .01, .05), g.pick(0, .02, .1)
	}
	s.Sick, s.Deaf = g.pick(0, 0, .1), g.pick(0, 0, .05)
	if g.IntN(2) == 0 {
		for range s.Slots {
			s.Rates = append(s.Rates, g.pick(-.99, -.5, 0, .5, .99))
		}
	}
	switch g.IntN(6) {
	case 0:
		g.steps(3+g.IntN(8), g.network)
	case 1:
		g.steps(3+g.IntN(8), g.network, g.time)
	case 2, 3:
		g.data()
	case 4:
		g.steps(3+g.IntN(8), g.churn)
	case 5:
		g.steps(5+g.IntN(10), g.network, g.time, g.churn, g.loss)
	}
	s.Trips = seed%2 == 0 // nothing is drawn for it, so that a seed is the schedule that it was
	slices.SortStableFunc(s.Steps, func(a, b step) int { return int(a.At - b.At) })
	return *s
}

func (g *generator) pick(of ...float64) float64 { return of[g.IntN(len(of))] }

// when is an instant of the run, to the millisecond.
func (g *generator) when() span {
	return span(time.Duration(g.IntN(int(g.s.Length)/1e6)) * time.Millisecond)
}

// within is a length of time between two parts of a lease's life.
func (g *generator) within(a, b float64) span {
	return span((time.Duration(float64(ttl) * (a + (b-a)*g.Float64()))).Round(time.Millisecond))
}

func (g *generator) steps(n int, kinds ...func() step) {
	for range n {
		st := kinds[g.IntN(len(kinds))]()
		st.At = g.when()
		g.s.Steps = append(g.s.Steps, st)
	}
	if g.IntN(4) == 0 {
		g.rollout()
	}
}

// network is a bad connection of one instance.
func (g *generator) network() step {
	st := step{Slot: g.IntN(g.s.Slots), For: g.within(.1, 3)}
	st.On = []string{"", "", onLease, onRegistry, onStatus, onTargets}[g.IntN(6)]
	st.Do = []deed{cut, cut, refuse, hang, halfDone, slow, lie}[g.IntN(7)]
	if st.Do == lie {
		st.On, st.For = onRegistry, g.within(1, 4)
	}
	return st
}

// time is what happens to machines.
func (g *generator) time() step {
	st := step{Slot: g.IntN(g.s.Slots), For: g.within(.05, 2.5), Do: pause}
	if g.IntN(2) == 0 {
		st.Do, g.s.Sleepers = suspend, true
	}
	return st
}

// churn is what people do.
func (g *generator) churn() step {
	st := step{Slot: g.IntN(g.s.Slots)}
	switch st.Do = []deed{crash, crash, stop, stop, mark, stepDown, revoke, catalogue}[g.IntN(8)]; st.Do {
	case crash:
		st.For = g.within(.05, 2)
	case stop:
		st.For, st.N = g.within(0, 1), g.IntN(2)
	case mark:
		st.For = g.within(.5, 3)
	case revoke:
		st.N = g.IntN(g.s.Keys + 1)
	case catalogue:
		st.N = 1 + g.IntN(1<<8-1)
	}
	return st
}

// loss is what happens to servers.
func (g *generator) loss() step {
	g.s.Guarded = true
	return step{Do: []deed{wipe, restore, restore, restore, trap}[g.IntN(5)], N: g.IntN(8)}
}

// rollout replaces every instance by a newer version.
func (g *generator) rollout() {
	at := g.when() / 2
	for n := range g.s.Slots {
		g.s.Steps = append(g.s.Steps, step{At: at, Do: stop, Slot: n, N: 7, For: g.within(.05, .5)})
		at += g.within(.3, 1.2)
	}
}

// data is a server that loses its data again and again, far away.
func (g *generator) data() {
	s := &g.s
	s.Guarded, s.Far, s.Listed = true, true, g.IntN(2) == 0
	s.Slots, s.Keys = 2+g.IntN(3), 1+g.IntN(3)
	s.Rates, s.Loss, s.Sick = nil, .04, .7
	s.Length = span(220 * time.Second)
	for at := g.within(.7, 3); at < s.Length; at += g.within(.7, 4) {
		st := g.loss()
		st.At = at
		s.Steps = append(s.Steps, st)
		if st.Do == trap {
			s.Steps = append(s.Steps, step{At: at + g.within(.1, 4), Do: untrap})
		}
		if g.IntN(5) == 0 { // over and back, with hardly a call in between
			s.Steps = append(s.Steps, step{At: at + span(50*time.Millisecond), Do: restore})
		}
	}
	for range g.IntN(4) {
		st := []func() step{g.network, g.time, g.churn}[g.IntN(3)]()
		st.At = g.when()
		s.Steps = append(s.Steps, st)
	}
}
