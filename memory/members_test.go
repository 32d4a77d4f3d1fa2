package memory_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
)

func ids(members []registry.Member) (ids []instance.ID) {
	for _, m := range members {
		ids = append(ids, m.ID)
	}
	return ids
}

func (e env) members(want ...instance.ID) registry.View {
	e.Helper()
	v, err := e.Members(e.ctx)
	e.ok(err)
	if !slices.Equal(ids(v.Members), want) {
		e.Fatalf("members are %v, want %v", ids(v.Members), want)
	}
	return v
}

func TestHeartbeatJoinsAndExtends(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		start := time.Now()
		self := member("z")
		self.Instance.Labels = map[string]string{"disk": "ssd"}
		first := e.beat(self, 0)
		if first.Unchanged || len(first.Members) != 1 || !first.Self.JoinedAt.Equal(start) || first.Self.TTLLeft != ttl || first.NextExpiry != 0 {
			e.Fatalf("first view is %+v", first)
		}
		time.Sleep(time.Second)
		e.beat(member("a"), 0)
		time.Sleep(time.Second)
		v := e.beat(self, first.Generation)
		if v.Unchanged || !v.Self.JoinedAt.Equal(start) || v.NextExpiry != ttl-time.Second || !v.Self.Instance.Equal(self.Instance) {
			e.Fatalf("view after a join is %+v", v)
		}
		for range 10 { // nothing but life times moves: unchanged, but NextExpiry is filled
			time.Sleep(time.Second)
			e.beat(member("a"), v.Generation)
			u := e.beat(self, v.Generation)
			if !u.Unchanged || u.Members != nil || u.Generation != v.Generation || u.NextExpiry != ttl || u.Self.ID != "z" {
				e.Fatalf("unchanged view is %+v", u)
			}
		}
		e.ok(e.Leave(e.ctx, "m"))
		for _, left := range []time.Duration{3, 1, 2} {
			_, err := e.Heartbeat(e.ctx, member("m"), left*time.Second, 0)
			e.ok(err)
			equal(e, "the earliest expiry of the others", e.beat(self, 0).NextExpiry, left*time.Second)
		}
		e.ok(e.Leave(e.ctx, "m"))
		read := e.members("z", "a") // by join time, not by ID
		equal(e, "the earliest expiry of all", read.NextExpiry, ttl)
		equal(e, "the reader's own record", read.Self.ID, "")
	})
}

func TestGenerationMovesOnlyForWhatOthersSee(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		self, other := member("a"), member("b")
		e.beat(self, 0)
		steps := []struct {
			name  string
			moves bool
			do    func()
		}{
			{"a join", true, func() { e.beat(other, 0) }},
			{"a heartbeat", false, func() { e.beat(other, 0) }},
			{"a description", true, func() { other.Instance.Labels = map[string]string{"l": "1"}; e.beat(other, 0) }},
			{"an equal description", false, func() { other.Instance.Labels = map[string]string{"l": "1"}; e.beat(other, 0) }},
			{"draining", true, func() { e.ok(e.BeginDrain(e.ctx, "b")) }},
			{"draining again", false, func() { e.ok(e.BeginDrain(e.ctx, "b")); other.Draining = true; e.beat(other, 0) }},
			{"draining an unknown", false, func() { e.ok(e.BeginDrain(e.ctx, "c")) }},
			{"leaving", true, func() { other.Leaving = true; e.beat(other, 0) }},
			{"a removal", true, func() { e.ok(e.Leave(e.ctx, "b")) }},
			{"a second removal", false, func() { e.ok(e.Leave(e.ctx, "b")) }},
			{"a join anew", true, func() { e.beat(member("b"), 0) }},
			{"an expiry", true, func() { time.Sleep(ttl / 2); e.beat(self, 0); time.Sleep(ttl / 2) }},
			{"a loss of data", true, func() { e.Restore(e.Snapshot()) }},
		}
		known := e.beat(self, 0).Generation
		for _, step := range steps {
			step.do()
			v := e.beat(self, known)
			if v.Unchanged == step.moves || v.Generation < known {
				e.Errorf("%s: unchanged is %v, generation %d after %d", step.name, v.Unchanged, v.Generation, known)
			}
			known = v.Generation
		}
	})
}

// A new store does not answer "unchanged" to a generation of the one before it.
func TestGenerationsDifferFromStoreToStore(t *testing.T) {
	var known registry.Generation
	for _, after := range []time.Duration{time.Second, time.Minute} {
		bubble(t, memory.Config{}, func(e env) {
			time.Sleep(after)
			v := e.beat(member("a"), known)
			equal(e, "unchanged", v.Unchanged, false)
			known = v.Generation
		})
	}
}

func TestMembersExpireHalfOpen(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		e.beat(member("a"), 0)
		e.ok(e.BeginDrain(e.ctx, "a"))
		time.Sleep(ttl - time.Nanosecond)
		equal(e, "what is left", e.members("a").Members[0].TTLLeft, time.Nanosecond)
		time.Sleep(time.Nanosecond)
		e.members()
		e.ok(e.BeginDrain(e.ctx, "a")) // leaves no mark behind
		v := e.beat(member("a"), 0)
		if v.Self.Draining || !v.Self.JoinedAt.Equal(time.Now()) {
			e.Fatalf("an instance that joins anew is %+v", v.Self)
		}
	})
}

func TestForgottenMemberKeepsItsJoinTimeAndMarks(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		joined := e.beat(member("a"), 0).Self.JoinedAt
		time.Sleep(time.Second)
		e.beat(member("b"), 0)
		e.Restore(nil)
		e.beat(member("b"), 0)
		self := registry.Self{Instance: instance.Instance{ID: "a"}, JoinedAt: joined, Draining: true}
		v := e.beat(self, 0)
		if v.Self.JoinedAt != joined || !v.Self.Draining {
			e.Fatalf("a forgotten member is %+v", v.Self)
		}
		e.members("a", "b")
		self.JoinedAt = joined.Add(-time.Hour) // written once
		equal(e, "the join time", e.beat(self, 0).Self.JoinedAt, joined)
	})
}

func TestDrainSticksAndLeavingDoesNot(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		e.beat(member("a"), 0)
		e.beat(registry.Self{Instance: instance.Instance{ID: "b"}, Leaving: true}, 0)
		e.ok(e.BeginDrain(e.ctx, "a"))
		v := e.beat(member("a"), 0)
		if !v.Self.Draining || len(v.Active()) != 0 {
			e.Fatalf("view is %+v", v)
		}
		v = e.beat(member("b"), 0) // another Run of the same process
		if !slices.Equal(ids(v.Active()), []instance.ID{"b"}) {
			e.Fatalf("active are %v", ids(v.Active()))
		}
		e.ok(e.Leave(e.ctx, "a"))
		e.members("b")
		equal(e, "draining after leaving", e.beat(member("a"), 0).Self.Draining, false)
	})
}

func TestViewsShareNoMemory(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		self := member("a")
		self.Instance.Labels = map[string]string{"l": "1"}
		v := e.beat(self, 0)
		self.Instance.Labels["l"] = "2"
		v.Self.Labels["l"] = "3"
		v.Members[0].Labels["l"] = "4"
		equal(e, "the label", e.members("a").Members[0].Labels["l"], "1")
	})
}

func TestLargeFleetIsOrdered(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		var want []instance.ID
		for i := range 500 {
			want = append(want, instance.ID(fmt.Sprintf("i%03d", i)))
		}
		for i := range want { // the same join time for all: by ID
			e.beat(member(want[len(want)-1-i]), 0)
		}
		e.members(want...)
	})
}
