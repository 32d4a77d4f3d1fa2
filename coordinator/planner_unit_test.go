package coordinator

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

func TestAgenda(t *testing.T) {
	a := agenda{debounce: time.Second, most: 5 * time.Second}
	if a.next() != forever {
		t.Error("something is due on an empty agenda")
	}
	for at := 10 * time.Second; at < 20*time.Second; at += 900 * time.Millisecond {
		a.change(at)
	}
	if a.next() != 15*time.Second {
		t.Errorf("changes that never end are planned for at %v, the first came at 10s", a.next())
	}
	a.begin()
	a.change(20 * time.Second)
	if a.next() != 21*time.Second {
		t.Errorf("a change at 20s is planned for at %v", a.next())
	}
	a.urgent(20500 * time.Millisecond)
	a.by(30 * time.Second)
	if a.next() != 20500*time.Millisecond {
		t.Errorf("an urgent change is planned for at %v", a.next())
	}
	a.begin()
	a.by(40 * time.Second)
	if a.next() != 40*time.Second {
		t.Errorf("a look at 40s is planned for at %v", a.next())
	}
	a.change(39500 * time.Millisecond)
	if a.next() != 40500*time.Millisecond {
		t.Errorf("a look at 40s cuts the collecting of changes short, at %v", a.next())
	}
	a.begin()
	if a.next() != forever {
		t.Error("a plan that is being made is due still")
	}
}

func TestGuard(t *testing.T) {
	cfg, err := PlannerConfig{}.resolve(mustTiming(t))
	if err != nil {
		t.Fatal(err)
	}
	at := func(n int, when time.Duration) (lost []absent) {
		for i := range n {
			lost = append(lost, absent{instance.ID(fmt.Sprint(when, i)), when})
		}
		return lost
	}
	const now = time.Minute
	for _, c := range []struct {
		what   string
		lost   []absent
		living int
		holds  bool
	}{
		{"nobody", nil, 5, false},
		{"two of three", at(2, now), 1, false}, // fewer than three
		{"three of ten", at(3, now), 7, false}, // not more than 30 %
		{"four of ten", at(4, now), 6, true},
		{"three of nine", at(3, now), 6, true},
		{"all at about the same time", slices.Concat(at(2, now-9*time.Second), at(2, now)), 6, true},
		{"some long before", slices.Concat(at(2, now-11*time.Second), at(2, now)), 6, false},
	} {
		g := guard{cfg: cfg, window: 10 * time.Second}
		missing, until := g.check(now, c.lost, c.living)
		if (until > 0) != c.holds || c.holds && (missing != len(c.lost) || until != now+10*time.Second) {
			t.Errorf("%s: %d missing, held until %v", c.what, missing, until)
		}
	}
	g := guard{cfg: cfg, window: 10 * time.Second}
	lost := slices.Concat(at(2, now-9*time.Second), at(2, now))
	g.check(now, lost, 6)
	if _, until := g.check(now+5*time.Second, lost, 6); until != now+10*time.Second {
		t.Errorf("a hold ends early, at %v, since its first losses are older than the window", until)
	}
	if _, until := g.check(now+6*time.Second, lost[:2], 8); until != 0 {
		t.Error("a hold goes on though half of the lost are back")
	}
	g.check(now, lost, 6)
	if _, until := g.check(now+10*time.Second, lost, 6); until != 0 {
		t.Error("a hold never ends")
	}
	off := cfg
	off.LossPercent = -1
	g = guard{cfg: off, window: 10 * time.Second}
	if _, until := g.check(now, at(9, now), 1); until != 0 {
		t.Error("the guard cannot be turned off")
	}
}

func mustTiming(t *testing.T) lease.Timing {
	t.Helper()
	timing, err := lease.Timing{}.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return timing
}

func TestDepartures(t *testing.T) {
	member := func(id string, change ...func(*registry.Member)) registry.Member {
		m := registry.Member{Instance: instance.Instance{ID: instance.ID(id)}}
		for _, c := range change {
			c(&m)
		}
		return m
	}
	drains := func(m *registry.Member) { m.Draining = true }
	var d departures
	one := []registry.Member{member("a"), member("b"), member("c"), member("d")}
	if !d.view(time.Second, time.Minute, nil, one) {
		t.Error("the first view is no reason to plan at once")
	}
	d.answered(time.Second, 8*time.Second)
	two := []registry.Member{member("a"), member("b", drains), member("c")}
	if !d.view(3*time.Second, time.Minute, one, two) || len(d.lost) != 0 {
		t.Errorf("d cannot have expired at 3s, and yet %v is lost", d.lost)
	}
	if d.view(4*time.Second, time.Minute, two, append(two, member("e"))) {
		t.Error("a join leaves nothing without an owner")
	}
	d.answered(4*time.Second, 6*time.Second)
	three := []registry.Member{member("a")}
	if !d.view(11*time.Second, time.Minute, append(two, member("e")), three) || len(d.lost) != 2 {
		t.Errorf("lost %v, want c and e, but not b, which was draining", d.lost)
	}
	if d.view(12*time.Second, time.Minute, three, append(three, member("c"))); len(d.lost) != 1 {
		t.Errorf("lost %v although c is back", d.lost)
	}
	if d.view(time.Hour, time.Minute, three, three); len(d.lost) != 0 {
		t.Errorf("%v is remembered for ever", d.lost)
	}
}

func TestRecord(t *testing.T) {
	r := record{
		members: []recorded{{"a", false}, {"b", true}},
		moves:   newest([]moved{{"k2", 5 * time.Second}, {"k1", 5 * time.Second}, {"k0", 7 * time.Second}, {"k3", time.Second}}),
	}
	got, err := decodeRecord(r.encode())
	if err != nil || !slices.Equal(got.members, r.members) || !slices.Equal(got.moves, r.moves) {
		t.Errorf("%+v came back as %+v, %v", r, got, err)
	}
	if got.moves[0].key != "k3" || got.moves[1].key != "k1" {
		t.Errorf("moves are not ordered: %v", got.moves)
	}
	if none, err := decodeRecord(nil); err != nil || len(none.members) != 0 {
		t.Errorf("no record reads as %+v, %v", none, err)
	}
	var big record
	for i := range 20_000 {
		big.moves = append(big.moves, moved{fmt.Sprintf("workload-%06d", i), time.Duration(i) * time.Millisecond})
	}
	big.members = r.members
	b := big.encode()
	got, err = decodeRecord(b)
	if err != nil || len(b) > mostRecord || len(got.members) != 2 || len(got.moves) < 10_000 || got.moves[0].key != "workload-000000" {
		t.Errorf("a record that is too big keeps %d moves in %d bytes, %v", len(got.moves), len(b), err)
	}
	for _, bad := range []string{"\x02", "\x01", "\x01\xff\xff\xff\xff\x0f", "\x01\x00\x00rest", "\x01\x01\x00\x09a\x00", strings.Repeat("\x01", mostRecord+1)} {
		if r, err := decodeRecord([]byte(bad)); err == nil {
			t.Errorf("%.10q reads as %+v", bad, r)
		}
	}
}

func FuzzRecord(f *testing.F) {
	f.Add(record{members: []recorded{{"a", true}}, moves: []moved{{"k", time.Second}}}.encode())
	f.Add([]byte{1, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		r, err := decodeRecord(b)
		if err != nil {
			return
		}
		again, err := decodeRecord(r.encode())
		if err != nil || len(again.members) != len(r.members) || len(again.moves) != len(r.moves) {
			t.Errorf("%x reads as %+v, and that as %+v, %v", b, r, again, err)
		}
	})
}

func TestCaps(t *testing.T) {
	in := assigner.Input{Instances: []assigner.Instance{{ID: "a"}, {ID: "b"}, {ID: "c"}}, Owners: map[string]instance.ID{}}
	for i := range 30 {
		in.Workloads = append(in.Workloads, assigner.Workload{Key: fmt.Sprintf("k%02d", i), Weight: 3})
		in.Owners[in.Workloads[i].Key] = "a"
	}
	full, err := assigner.Sticky{}.Plan(in)
	if err != nil || len(full.Moves) != 20 {
		t.Fatal(full, err)
	}
	for _, c := range []struct{ in, out, under, want int }{
		{-1, -1, 0, 20}, {100, 100, 0, 20}, {3, 100, 0, 6}, {100, 7, 0, 7}, {100, 7, 5, 2}, {3, 100, 2, 4},
	} {
		plan, err := assigner.Sticky{}.Plan(in)
		if err != nil {
			t.Fatal(err)
		}
		moves := newTransit()
		for i := range c.under {
			moves.healthy[fmt.Sprint("other-", i)] = passage{"a", "b"}
		}
		back := moves.restrain(&plan, in.Workloads, c.in, c.out)
		if len(plan.Moves) != c.want || back != 20-c.want || plan.Deferred != back {
			t.Errorf("caps %d and %d with %d under way: %d moves, %d deferred", c.in, c.out, c.under, len(plan.Moves), plan.Deferred)
		}
		if err := assigner.Verify(in, plan); err != nil {
			t.Errorf("a plan with moves taken back: %v", err)
		}
	}
	// A drain knows no caps.
	in.Instances[0].Phase = assigner.Draining
	plan, err := assigner.Sticky{}.Plan(in)
	moves := newTransit()
	if err != nil || moves.restrain(&plan, in.Workloads, 1, 1) != 0 || len(plan.Moves) != 30 {
		t.Errorf("caps held a drain back: %d moves, %v", len(plan.Moves), err)
	}
}

func TestBudgetByDefault(t *testing.T) {
	for _, c := range []struct{ set, workloads, want int }{{0, 5, 100}, {0, 20_000, 2000}, {3, 20_000, 3}} {
		if got := budget(assigner.Policy{Budget: c.set}, c.workloads); got != c.want {
			t.Errorf("budget %d of %d workloads is %d, want %d", c.set, c.workloads, got, c.want)
		}
	}
}

// A write that broke off in the middle leaves a workload in two sets: the newer one counts.
func TestLedgerReadsHalfAPlan(t *testing.T) {
	g := newLedger()
	g.read([]assigner.Set{
		{Instance: "b", Keys: []string{"k1", "k2"}, Token: 7, Epoch: 2, Incarnation: 5},
		{Instance: "a", Keys: []string{"k1"}, Token: 7, Epoch: 1, Incarnation: 5},
		{Instance: "c", Keys: []string{"k3"}, Token: 6, Epoch: 9, Incarnation: 4},
		{Instance: catalogueID, Keys: []string{"f"}, Token: 7, Epoch: 1, Incarnation: 5},
	}, 5)
	if len(g.aim) != 2 || g.aim["k1"] != "b" || g.aim["k2"] != "b" {
		t.Errorf("targets %v", g.aim)
	}
	plan := assigner.Plan{
		Targets: []assigner.Target{{Key: "k1", Instance: "a"}, {Key: "k2", Instance: "b"}},
		Quotas:  []assigner.Quota{{Instance: "a", Count: 1}, {Instance: "b", Count: 1}},
	}
	sets, gone := g.changes(plan, 15, 5)
	if len(sets) != 2 || sets[0].Instance != catalogueID || sets[1].Instance != "b" || !slices.Equal(gone, []instance.ID{"c"}) {
		t.Errorf("changes %v, gone %v", sets, gone)
	}
	g.doubt("a")
	if sets, _ := g.changes(plan, 15, 5); len(sets) != 3 {
		t.Errorf("a doubtful set is not written again: %v", sets)
	}
	if sets, _ := g.changes(plan, 15, 6); len(sets) != 3 {
		t.Errorf("sets of an earlier incarnation are not written again: %v", sets)
	}
	// Who gains is written first, so that nothing is given up that nobody was given.
	moved := assigner.Plan{
		Targets: []assigner.Target{{Key: "k1", Instance: "z"}, {Key: "k2", Instance: "z"}},
		Quotas:  []assigner.Quota{{Instance: "a"}, {Instance: "b"}, {Instance: "z", Count: 2}},
	}
	if sets, _ := g.changes(moved, 15, 5); sets[1].Instance != "z" {
		t.Errorf("written in the order %v", sets)
	}
}
