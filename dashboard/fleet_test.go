package dashboard

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tenuretest"
)

func TestSettledFleet(t *testing.T) {
	inFleet(t, Config{}, func(t *testing.T, _ *tenuretest.Fleet[int], p *Page) {
		v := twin(t, p, "")
		assert.Equal(t, Verdict{Good, "All 9 workloads have an owner, on 3 instances, 3 each."}, v.Verdict)
		assert.Equal(t, Counts{Workloads: 9, Owned: 9, Active: 9, Members: 3, ActiveMembers: 3}, v.Counts)
		require.Len(t, v.Members, 3)
		m := v.Members[0]
		assert.Equal(t, "a", m.Name)
		assert.Equal(t, 3, m.Held)
		assert.InDelta(t, 9_000, m.TTLMs, 1_000, "as long as it was ever seen to be")
		assert.Greater(t, m.TTLLeftMs, 7000.0)
		require.Len(t, v.Workloads.Rows, 9)
		r := v.Workloads.Rows[0]
		assert.Equal(t, "job-00", r.Key)
		assert.Equal(t, "Job 0", r.Name)
		assert.NotZero(t, r.Token)
		assert.Equal(t, Active, r.State)
		assert.Equal(t, Balance{Most: 3, Fewest: 3, Even: 3, Comparable: true}, v.Balance)
		assert.Empty(t, v.Actions)
		assert.NotNil(t, v.Events)
	})
}

func TestFailover(t *testing.T) {
	inFleet(t, Config{}, func(t *testing.T, f *tenuretest.Fleet[int], p *Page) {
		f.Kill("a")
		time.Sleep(6 * time.Second)
		v := twin(t, p, "")
		assert.Equal(t, Verdict{Busy, "a misses its heartbeats; its 3 workloads move when its time is up."}, v.Verdict)
		assert.True(t, v.Members[0].Late)
		f.Settled()
		time.Sleep(time.Second)
		v = twin(t, p, "?sort=moves")
		assert.Equal(t, Good, v.Verdict.Level, v.Verdict.Text)
		assert.Equal(t, []string{"a was lost: no heartbeat any more"}, told(v, EventLost))
		assert.NotEmpty(t, told(v, EventFailover))
		require.NotNil(t, v.Balance.Change)
		assert.Equal(t, "a was lost", v.Balance.Change.What)
		assert.Equal(t, 3, v.Balance.Change.Moves)
		assert.Equal(t, 3, v.Balance.Change.Least)
		assert.True(t, v.Balance.Change.Settled)
		require.NotNil(t, v.Workloads.Rows[0].Last)
		assert.True(t, v.Workloads.Rows[0].Last.Failover)
		assert.True(t, v.Workloads.Rows[0].Last.AtMost)
		assert.Equal(t, 1, v.Workloads.Rows[0].Moves)
	})
}

func TestDrain(t *testing.T) {
	inFleet(t, Config{}, func(t *testing.T, f *tenuretest.Fleet[int], p *Page) {
		f.Drain("b")
		time.Sleep(300 * time.Millisecond)
		v := twin(t, p, "")
		assert.Equal(t, Verdict{Busy, "b is draining: 3 workloads still to hand over."}, v.Verdict)
		assert.Equal(t, 3, v.Counts.Transferring)
		f.Settled()
		v = twin(t, p, "?sort=handover")
		assert.Equal(t, "All 9 workloads have an owner, on 2 instances, 4 or 5 each.", v.Verdict.Text)
		last := v.Workloads.Rows[0].Last
		require.NotNil(t, last)
		assert.False(t, last.Failover)
		assert.False(t, last.AtMost, "a wind-down of 700 ms was seen")
		assert.GreaterOrEqual(t, last.TookMs, 700.0)
		assert.Less(t, last.TookMs, 1000.0)
		assert.Equal(t, []string{"b is draining"}, told(v, "draining"))
		assert.Equal(t, 3, v.Balance.Change.Moves)
		assert.Equal(t, 3, v.Balance.Change.Least)
		f.Stop("b")
		time.Sleep(time.Second)
		v = twin(t, p, "")
		assert.Equal(t, []string{"b left"}, told(v, EventLeft))
		assert.Empty(t, told(v, EventLost))
	})
}

func TestJoin(t *testing.T) {
	inFleet(t, Config{}, func(t *testing.T, f *tenuretest.Fleet[int], p *Page) {
		f.Join(instance.Instance{ID: "d", Labels: map[string]string{"name": "the new one"}})
		f.Settled()
		time.Sleep(time.Second)
		v := twin(t, p, "")
		assert.Equal(t, []string{"the new one joined"}, told(v, EventJoined))
		assert.Equal(t, 2, v.Balance.Change.Moves)
		assert.Equal(t, 2, v.Balance.Change.Least)
		assert.Equal(t, "All 9 workloads have an owner, on 4 instances, 2 or 3 each.", v.Verdict.Text)
	})
}

// One change after another: each is counted for itself, also where leases move before the membership does.
func TestChangesAreToldApart(t *testing.T) {
	inFleet(t, Config{}, func(t *testing.T, f *tenuretest.Fleet[int], p *Page) {
		f.Join(instance.Instance{ID: "d"})
		f.Settled()
		time.Sleep(time.Second)
		f.Kill("d")
		time.Sleep(time.Minute)
		f.Settled()
		c := twin(t, p, "").Balance.Change
		assert.Equal(t, "d was lost", c.What)
		assert.Equal(t, 2, c.Moves)
		assert.Equal(t, 2, c.Least)

		prior := map[instance.ID]int{"a": 3}
		h, r := newPast(), &reading{at: time.Now()}
		h.looked = true
		h.account(r, prior, 4, true)
		h.shifted(r, []string{"x was lost"}, map[instance.ID]int{"a": 7})
		assert.Equal(t, &shift{what: "x was lost", at: r.at, before: prior, moves: 4}, h.change)
		h.account(r, prior, 1, true)
		assert.True(t, h.change.done)
		h.account(r, prior, 5, false)
		assert.Equal(t, 5, h.change.moves, "what belongs to no change is not counted for the last one")
		later := &reading{at: r.at.Add(time.Minute)}
		h.account(later, prior, 0, true)
		assert.Nil(t, h.strayed)
	})
}

// A page that is opened while a fleet evens itself out does not count those moves for the first change that it sees.
func TestMovesOfBeforeTheFirstChange(t *testing.T) {
	h, now := newPast(), time.Now()
	at := func(n int, changed []string, moves int, owners ...instance.ID) *Change {
		rows, members := make([]Row, len(owners)), []Member{}
		for i, id := range owners {
			rows[i].Owner = id
		}
		for _, id := range []instance.ID{"a", "b", "c"}[:n] {
			m := Member{}
			m.ID = id
			members = append(members, m)
		}
		now = now.Add(time.Second)
		prior := map[instance.ID]int{"a": 2, "b": 2, "c": 2}
		b := h.weigh(&reading{at: now}, rows, members, prior, changed, moves)
		h.looked = true
		return b.Change
	}
	assert.Nil(t, at(3, []string{"a joined", "b joined", "c joined"}, 0, "a", "a", "a", "a", "a", "a"))
	assert.Nil(t, at(3, nil, 4, "a", "a", "b", "b", "c", "c"))
	c := at(2, []string{"c was lost"}, 0, "a", "a", "b", "b", "", "")
	require.NotNil(t, c)
	assert.Equal(t, "c was lost", c.What)
	c = at(2, nil, 2, "a", "a", "b", "b", "a", "b")
	assert.Equal(t, Change{What: "c was lost", At: c.At, Moves: 2, Least: 2, Settled: true}, *c)
}

func TestNobodyIsLeft(t *testing.T) {
	inFleet(t, Config{}, func(t *testing.T, f *tenuretest.Fleet[int], p *Page) {
		for _, id := range []instance.ID{"a", "b", "c"} {
			f.Kill(id)
		}
		time.Sleep(20 * time.Second)
		v := twin(t, p, "")
		assert.Equal(t, Verdict{Bad, "No instance is alive: 9 workloads wait without an owner."}, v.Verdict)
		assert.Equal(t, 9, v.Counts.Unowned)
		assert.NotEmpty(t, told(v, EventUnowned))
	})
}

func TestWhy(t *testing.T) {
	inFleet(t, Config{}, func(t *testing.T, f *tenuretest.Fleet[int], p *Page) {
		d := twin(t, p, "?w=job-04").Workload
		require.NotNil(t, d)
		assert.True(t, d.Found)
		require.NotNil(t, d.Explanation)
		assert.Equal(t, d.Owner, d.Explanation.Instance)
		assert.NotEmpty(t, d.Explanation.RunnerUp)
		assert.Contains(t, strings.Join(d.Why, "\n"), "has it already and keeps it")
		f.Drain("c")
		f.Settled()
		moved := f.Running("a")[0]
		for _, key := range append(f.Running("a"), f.Running("b")...) {
			if d := twin(t, p, "?w="+key).Workload; d.Moves > 0 {
				moved = key
			}
		}
		d = twin(t, p, "?w="+moved).Workload
		assert.Contains(t, d.Why, "c may not have it: it is draining.")
		assert.Contains(t, d.Why, "c had it before, and let go of it.")
		d = twin(t, p, "?w=nothing").Workload
		assert.False(t, d.Found)
		assert.Len(t, d.Why, 1)
	})
}

// The page of a process that runs a coordinator knows more.
func TestCoordinatorOfThisProcess(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(6), slow, tenuretest.FleetConfig{})
		f.Start("a", "b")
		f.Settled()
		p := open9(t, f.Store(), Config{Coordinator: f.Coordinator("a")})
		v := twin(t, p, "?w="+f.Running("a")[0])
		require.NotNil(t, v.Plan)
		assert.Equal(t, "assigner.Sticky", v.Plan.Assigner)
		assert.Len(t, v.Plan.Digest, 16)
		assert.True(t, v.Members[0].Here)
		assert.Positive(t, v.Members[0].LeaseLeftMs)
		assert.Equal(t, 3, v.Members[0].Quota)
		require.NotNil(t, v.Workload.Explanation)
		assert.Equal(t, instance.ID("a"), v.Workload.Explanation.Instance)
		assert.Equal(t, instance.ID("b"), v.Workload.Explanation.RunnerUp)
		require.NotNil(t, v.Workload.Local)
		assert.Equal(t, "active", v.Workload.Local.State)
		assert.Positive(t, v.Workload.Local.LeftMs)
		assert.NotEmpty(t, v.Workload.Events)
		assert.Equal(t, "Job 0", twin(t, p, "?w=job-00").Workload.Name)
		assert.NotEmpty(t, told(v, "started"))
		html := get(p, "/x/?w="+f.Running("a")[0]).Body.String()
		has(t, html, "this one")
		has(t, html, "Plan of this instance")
		has(t, html, "In this process")
	})
}

func TestSilentStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := tenuretest.NewFleet(t, jobs(4), slow, tenuretest.FleetConfig{})
		f.Start("a", "b")
		f.Settled()
		store := &broken{Store: f.Store()}
		store.set(errors.New("connection refused\nby the server"), false)
		p := open9(t, store, Config{Catalogue: planned(4)})
		v := twin(t, p, "")
		assert.Equal(t, Verdict{Unknown, "The store does not answer, so nothing is known of the fleet yet."}, v.Verdict)
		assert.Equal(t, []string{"the store does not answer: Leases: connection refused by the server"}, told(v, EventSilent))

		store.set(nil, false)
		time.Sleep(time.Second)
		assert.Equal(t, Good, twin(t, p, "").Verdict.Level)

		store.set(errors.New("connection refused"), false)
		time.Sleep(time.Second)
		_ = twin(t, p, "")
		time.Sleep(12 * time.Second)
		v = twin(t, p, "")
		assert.Equal(t, Verdict{Unknown, "The store has not answered for 12 s: this is the fleet as it was before."}, v.Verdict)
		assert.Equal(t, 4, v.Counts.Owned, "the last picture stays")

		store.set(nil, false)
		time.Sleep(time.Second)
		v = twin(t, p, "")
		assert.Equal(t, Good, v.Verdict.Level)
		assert.Len(t, told(v, EventAnswers), 2)
		assert.Empty(t, told(v, EventMoved), "nothing moved meanwhile")
	})
}

// A store that ignores contexts costs the reader a second, not the page.
func TestHangingStore(t *testing.T) {
	store := &broken{Store: written(t, 2, 10)}
	store.set(nil, true)
	p := open9(t, store, Config{CallTimeout: 50 * time.Millisecond})
	w := get(p, "/")
	assert.Equal(t, 200, w.Code)
	has(t, w.Body.String(), "The store does not answer")
	has(t, w.Body.String(), "no answer within 50ms")
}

func TestStrangersAndSingletons(t *testing.T) {
	synctest.Test(t, testStrangersAndSingletons)
}

func testStrangersAndSingletons(t *testing.T) {
	store := written(t, 2, 4)
	s := lease.NewSession("worker-9", lasting) // a runner that publishes no status
	_, err := store.OpenSession(t.Context(), s)
	require.NoError(t, err)
	_, err = store.Acquire(t.Context(), s, []string{"nightly"})
	require.NoError(t, err)
	p := open9(t, store, Config{Catalogue: func() []Workload {
		w := func(key string, alone bool) Workload {
			return Workload{Workload: assigner.Workload{Key: key}, Alone: alone}
		}
		return []Workload{w("tenant/00000", false), w("tenant/00001", false), w("tenant/00002", false), w("tenant/00003", false), w("nightly", true), w("weekly", true)}
	}})
	v := twin(t, p, "")
	require.Len(t, v.Members, 3)
	assert.True(t, v.Members[2].Stranger)
	assert.Equal(t, 1, v.Members[2].Held)
	assert.Equal(t, 0, v.Members[2].Planned)
	assert.Zero(t, v.Counts.Starting)
	assert.Equal(t, 2, v.Balance.Most)
	assert.Equal(t, Verdict{Busy, "1 of 6 workloads has no owner at this moment; the fleet is taking over."}, v.Verdict)
	hold(t, store, "worker-9", "weekly")
	time.Sleep(p.cfg.Refresh)
	assert.Equal(t, Verdict{Good, "All 6 workloads have an owner, on 2 instances, 2 each and 2 unplanned."}, twin(t, p, "").Verdict)
	d := twin(t, p, "?w=nightly").Workload
	assert.Equal(t, []string{"No assigner plans it: whoever asks first holds it, until it stops, steps down or dies."}, d.Why)
	assert.Nil(t, d.Explanation)
}

// Without a catalogue and without a list of leases there is still what the owners say.
func TestStoreThatListsNothing(t *testing.T) {
	store := written(t, 2, 4)
	p := open9(t, noLister{store}, Config{})
	v := twin(t, p, "")
	assert.Equal(t, 4, v.Counts.Owned)
	assert.Equal(t, 4, v.Counts.Active)
	has(t, get(p, "/").Body.String(), "the catalogue is not known here")
}

// A worker that outlasts DrainTimeout and HardStop is seen from outside as well.
func TestWindingDownForTooLong(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := written(t, 2, 4)
		p := open9(t, store, Config{Timing: lease.Timing{DrainTimeout: 5 * time.Second, HardStop: 5 * time.Second}})
		l := hold(t, store, "host-0:1:abcdef00", "late")[0]
		require.NoError(t, store.PutStatus(t.Context(), l.Owner, lasting, []status.Record{{Key: l.Key, State: status.Transferring, Token: l.Token}}))
		assert.Equal(t, 1, twin(t, p, "").Counts.Transferring)
		time.Sleep(10 * time.Second)
		assert.Equal(t, 1, twin(t, p, "").Counts.Transferring)
		time.Sleep(2 * time.Second)
		v := twin(t, p, "")
		assert.Equal(t, 1, v.Counts.Stuck)
		assert.Equal(t, Verdict{Bad, "The work of late on host-0:1:abcd has not ended in time: it blocks its successor until that process ends."}, v.Verdict)
	})
}

func TestUnevenAndStuckInTransfer(t *testing.T) {
	assert.Equal(t, "1 of 3 workloads is being handed over.", func() string {
		v, _ := between(&fleet{counts: Counts{Workloads: 3, Transferring: 1}})
		return v.Text
	}())
	v, ok := uneven(&fleet{balance: Balance{Comparable: true, Missing: 2, Most: 5, Fewest: 1}})
	assert.True(t, ok)
	assert.Equal(t, "Every workload has an owner, unevenly: 2 moves would even the load out.", v.Text)
	v, ok = stuck(&fleet{counts: Counts{Stuck: 2}, rows: []Row{{Key: "k", State: Stuck, OwnerName: "a"}}})
	assert.True(t, ok)
	assert.Equal(t, "The work of k on a has not ended in time, and so have 1 more: it blocks its successor until that process ends.", v.Text)
}

// The least that the page names is what the planner with the fewest possible moves needs.
func TestLeastMoves(t *testing.T) {
	random := rand.New(rand.NewPCG(7, 7))
	for range 300 {
		n, m := random.IntN(40), 1+random.IntN(6)
		in := assigner.Input{Owners: map[string]instance.ID{}}
		have := make([]int, m)
		for i := range m {
			in.Instances = append(in.Instances, assigner.Instance{ID: instance.ID(rune('a' + i))})
		}
		for w := range n {
			key := string(rune('A' + w))
			in.Workloads = append(in.Workloads, assigner.Workload{Key: key})
			if at := random.IntN(m + 2); at < m {
				in.Owners[key] = in.Instances[at].ID
				have[at]++
			} else if at == m {
				in.Owners[key] = "gone"
			}
		}
		plan, err := assigner.Sticky{}.Plan(in)
		require.NoError(t, err)
		require.Equal(t, len(plan.Moves), leastMoves(n, have), "%d workloads, %v", n, have)
	}
}

// noLister hides that a store can list its leases.
type noLister struct{ *memory.Store }

// Leases has another shape than lease.Lister asks for.
func (noLister) Leases() {}
