package redisstore_test

import (
	"testing"
	"testing/synctest"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
)

// Who only looks at a fleet, perhaps one whose name was mistyped, leaves nothing behind and begins no
// incarnation: it does not know for how long the fleet's sessions may live.
func TestLookingLeavesNoTrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := redistest.StartVirtual(t)
		s, err := redisstore.New(v.Client(), redisstore.Config{Fleet: "mistyped"})
		must(t, err)
		look(t, s)
		must(t, s.Revoke(ctx, "k"))
		must(t, s.BeginDrain(ctx, "nobody"))
		if keys, err := v.Client().Keys(ctx, "*").Result(); err != nil || len(keys) > 0 {
			t.Errorf("the server has %q (%v), want nothing", keys, err)
		}
		s, sess := ready(t, nil, v.Client(), redisstore.Config{})
		must(t, v.Client().FlushAll(ctx).Err())
		look(t, s)
		if in := renew(t, s, sess); in.FrozenFor != freeze {
			t.Errorf("frozen for %v after a loss that was looked at, want %v", in.FrozenFor, freeze)
		}
	})
}

func look(t *testing.T, s *redisstore.Store) {
	t.Helper()
	leases, err := s.Leases(ctx)
	must(t, err)
	members, err := s.Members(ctx)
	must(t, err)
	statuses, err := s.AllStatuses(ctx)
	must(t, err)
	_, targets, err := s.AllTargets(ctx)
	must(t, err)
	if n := len(leases) + len(members.Members) + len(statuses) + len(targets); n > 0 {
		t.Errorf("an empty fleet shows %d records", n)
	}
}
