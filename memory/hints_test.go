package memory_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

func TestHints(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		ctx, cancel := context.WithCancel(e.ctx)
		var got []lease.Change
		defer cancel()
		ended := make(chan error, 1)
		go func() { ended <- e.Watch(ctx, func(c lease.Change) { got = append(got, c) }) }()
		hints := func(what string, want ...lease.Change) {
			e.Helper()
			synctest.Wait()
			if !slices.Equal(got, want) {
				e.Fatalf("hints of %s are %v, want %v", what, got, want)
			}
			got = nil
		}
		hints("the start", lease.Change{Kind: lease.ChangeResync})
		a := e.open("a")
		g := e.acquire(a, "x", "y", "z")
		e.renew(a)
		e.put("a", rec("k", 1, status.Active))
		hints("grants, renewals and statuses")
		e.ok(e.Release(e.ctx, a, g.Leases[:1]))
		hints("one release", lease.Change{Kind: lease.ChangeReleased, Key: "x"})
		e.ok(e.Release(e.ctx, a, g.Leases))
		hints("several", lease.Change{Kind: lease.ChangeReleased, Key: "y"}, lease.Change{Kind: lease.ChangeReleased, Key: "z"})
		e.ok(e.Release(e.ctx, a, g.Leases))
		hints("none")
		e.take(a, "k")
		e.ok(e.Revoke(e.ctx, "k"))
		e.ok(e.Revoke(e.ctx, "k"))
		hints("a revocation", lease.Change{Kind: lease.ChangeRevoked, Key: "k"})
		e.ok(e.CloseSession(e.ctx, a))
		e.ok(e.CloseSession(e.ctx, a))
		hints("a close", lease.Change{Kind: lease.ChangeReleased})

		i := member("i")
		e.beat(i, 0)
		e.beat(i, 0)
		hints("a join", lease.Change{Kind: lease.ChangeJoined, Instance: "i"})
		i.Instance.Zone = "z"
		e.beat(i, 0)
		hints("a description", lease.Change{Kind: lease.ChangeJoined, Instance: "i"})
		e.ok(e.BeginDrain(e.ctx, "i"))
		e.ok(e.BeginDrain(e.ctx, "i"))
		hints("a drain", lease.Change{Kind: lease.ChangeDraining, Instance: "i"})
		i.Leaving = true
		e.beat(i, 0)
		e.beat(i, 0)
		hints("leaving", lease.Change{Kind: lease.ChangeLeft, Instance: "i"})
		e.ok(e.Leave(e.ctx, "i"))
		e.ok(e.Leave(e.ctx, "i"))
		hints("a removal", lease.Change{Kind: lease.ChangeLeft, Instance: "i"})
		e.Restore(nil)
		hints("a restart", lease.Change{Kind: lease.ChangeResync})

		cancel()
		err := <-ended
		e.is(err, lease.ErrUnavailable)
		e.is(err, context.Canceled)
		e.beat(i, 0)
		hints("a watch that ended")
		_, _, _, watchers := e.Kept()
		equal(e, "the number of watchers", watchers, 0)
	})
}

// A watcher that does not return holds nobody up, and is told to look for itself when it does.
// It may call the store: no lock is held around it.
func TestSlowWatcherIsCoalesced(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		ctx, cancel := context.WithCancel(e.ctx)
		defer cancel()
		var got []lease.Change
		stuck, goOn := make(chan bool), make(chan bool)
		go e.Watch(ctx, func(c lease.Change) { //nolint:errcheck // it ends with ctx
			if got == nil {
				close(stuck)
				<-goOn
				e.members(slices.Collect(func(yield func(id instance.ID) bool) {
					for i := range 300 {
						if !yield(instance.ID(fmt.Sprintf("i%03d", i))) {
							return
						}
					}
				})...)
			}
			got = append(got, c)
		})
		<-stuck
		for i := range 300 {
			e.beat(registry.Self{Instance: instance.Instance{ID: instance.ID(fmt.Sprintf("i%03d", i))}}, 0)
		}
		close(goOn)
		synctest.Wait()
		if len(got) < 2 || len(got) > 70 || got[0].Kind != lease.ChangeResync || got[1].Kind != lease.ChangeResync {
			e.Fatalf("%d hints, beginning with %v", len(got), got[:2])
		}
		equal(e, "the last hint", got[len(got)-1], lease.Change{Kind: lease.ChangeJoined, Instance: "i299"})
	})
}
