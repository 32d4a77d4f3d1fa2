package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// A member that has died is forgotten after its own TTL, although the server's clock was set back by an hour; those
// that live stay, whatever their TTLs.
// Failure 41.
func TestClockSetBackKeepsNoDeadMember(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, _ lease.Session) {
		const ttl = 10 * time.Second
		beat := func(id instance.ID, ttl time.Duration) registry.View {
			t.Helper()
			view, err := s.Heartbeat(ctx, registry.Self{Instance: instance.Instance{ID: id}}, ttl, 0)
			must(t, err)
			return view
		}
		beat("patient", time.Minute)
		beat("dead", ttl)
		beat("alive", ttl)
		v.Step(-time.Hour)
		for i := range 10 {
			view := beat("alive", ttl)
			if want := 3; i < 9 && len(view.Members) != want {
				t.Fatalf("%d members after %d s, want %d: %+v", len(view.Members), i, want, view.Members)
			}
			time.Sleep(ttl / 10)
		}
		time.Sleep(ttl / 10)
		view := beat("alive", ttl)
		if len(view.Members) != 2 || view.Members[0].ID == "dead" || view.Members[1].ID == "dead" {
			t.Fatalf("after %v: %+v", ttl, view.Members)
		}
		if view.NextExpiry > time.Minute-ttl {
			t.Errorf("the next one expires in %v", view.NextExpiry)
		}
	})
}

// A life that lies far away and belongs to no readable record holds no other one up.
func TestALifeWithoutARecordEnds(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, _ lease.Session) {
		must(t, second(s.Heartbeat(ctx, registry.Self{Instance: instance.Instance{ID: "a"}}, time.Minute, 0)))
		must(t, v.Client().HSet(ctx, "{tenure:fleet}:members", "b", "garbage").Err())
		must(t, v.Client().ZAdd(ctx, "{tenure:fleet}:lives", redis.Z{Score: float64(time.Now().Add(time.Hour).UnixMicro()), Member: "b"}).Err())
		view, err := s.Members(ctx)
		must(t, err)
		if len(view.Members) != 1 || view.NextExpiry > time.Minute {
			t.Errorf("%+v", view)
		}
		if n, err := v.Client().ZCard(ctx, "{tenure:fleet}:lives").Result(); err != nil || n != 1 {
			t.Errorf("%d lives are left (%v)", n, err)
		}
	})
}
