package redisstore_test

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/lease"
)

// address is what clients dial: a name that is pointed at another server in a fail-over.
type address struct {
	at atomic.Pointer[redistest.Server]
}

func (a *address) options() *redis.Options {
	o := patient("127.0.0.1:1")
	o.Dialer = func(ctx context.Context, network, _ string) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, network, a.at.Load().Addr)
	}
	return o
}

// The master dies, and a replica that lags behind is promoted: it lacks the latest grants. Later the old
// master comes back as a replica, and is promoted in turn. Expected both times: a freeze, every
// term that is still alive goes on, nobody gets what another one holds.
// Failure 57.
func TestFaultPromotionAndFailBack(t *testing.T) {
	t.Parallel()
	first := redistest.Start(t)
	second := redistest.StartReplica(t, first)
	name := &address{}
	name.at.Store(first)
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient { return redistest.Client(t, name.options()) })
	old := f.settle()
	master, replica := first, second
	for _, step := range []string{"promotion", "fail-back"} {
		// The replica stops following, and everything moves once more: that it will never hear of.
		replica.Admin("REPLICAOF", "127.0.0.1", "1")
		for _, h := range f.holders {
			for _, hold := range h.current() {
				hold.Release()
			}
		}
		eventually(t, func() bool {
			now := f.terms()
			for key := range old {
				if now[key].Token <= old[key].Token {
					return false
				}
			}
			return true
		}, step+": the keys did not move")
		before, in := f.settle(), f.incarnation()
		master.Stop()
		replica.Admin("REPLICAOF", "NO", "ONE")
		name.at.Store(replica)
		f.turned(in)
		f.thawed()
		f.kept(before)
		old = before
		master.Restart()
		master.Admin("REPLICAOF", "127.0.0.1", replica.Port())
		master.WaitInStep()
		master, replica = replica, master
	}
}

// A planned switch loses nothing; the promoted server is another one all the same.
// Failure 55.
func TestFaultPlannedFailover(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	name := &address{}
	name.at.Store(master)
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient { return redistest.Client(t, name.options()) })
	before, in := f.settle(), f.incarnation()
	master.Admin("FAILOVER")
	eventually(t, func() bool { return replica.Admin("ROLE").([]any)[0] == "master" }, "the replica was not promoted")
	name.at.Store(replica) // until here, and from clients that were connected before, calls meet READONLY
	f.turned(in)
	f.thawed()
	f.kept(before)
}

// Sentinel promotes by itself, and the client follows. Sessions must outlive the fail-over: here it takes a
// second and more, so that terms may end; but none may overlap, and all keys find an owner.
func TestFaultSentinel(t *testing.T) {
	t.Parallel()
	master := redistest.Start(t)
	redistest.StartReplica(t, master)
	sentinel := redistest.StartSentinel(t, master, 500*time.Millisecond)
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient {
		c := redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: "fleet", SentinelAddrs: []string{sentinel.Addr}, MaxRetries: 1,
			DialTimeout: faultTTL / 4, ReadTimeout: faultTTL / 4, DialerRetries: 1,
		})
		t.Cleanup(func() { c.Close() })
		return c
	})
	f.settle()
	in := f.incarnation()
	master.Stop()
	eventually(t, func() bool { return f.incarnation() > in }, "no keeper saw the new master")
	f.thawed()
	f.settle()
}

// A cluster moves the fleet's slot to another node, key by key; meanwhile scripts fail with TRYAGAIN.
// Expected: the move is over before sessions lapse, and no term ends.
func TestFaultClusterSlotMigration(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, time.Second)
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient { return c.Client(faultTTL / 4) })
	before, in := f.settle(), f.incarnation()
	i, slot := c.Owner(leasesKey)
	c.Migrate(slot, c.Masters[i], c.Masters[(i+1)%3], 20*time.Millisecond)
	f.turned(in)
	f.thawed()
	f.kept(before)
}

// A cluster loses the master of the fleet's slot; its replica takes over.
func TestFaultClusterLosesAMaster(t *testing.T) {
	t.Parallel()
	c := redistest.StartCluster(t, 500*time.Millisecond)
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient { return c.Client(faultTTL / 4) })
	before, in := f.settle(), f.incarnation()
	i, _ := c.Owner(leasesKey)
	c.Masters[i].Stop()
	eventually(t, func() bool { return f.incarnation() > in }, "no keeper saw the new master")
	f.thawed()
	now := f.settle()
	for key, l := range before {
		if now[key].Token < l.Token {
			t.Errorf("%q went from token %d to %d", key, l.Token, now[key].Token)
		}
	}
}

// A grant that no replica confirms is unknown, and asked for again until one does: with the same token.
func TestReplicasAreWaitedFor(t *testing.T) {
	master := redistest.Start(t)
	replica := redistest.StartReplica(t, master)
	s, sess := ready(t, master, nil, redisstore.Config{MinReplicas: 1, ReplicaTimeout: 200 * time.Millisecond})
	// A replica on a busy machine may need longer than ReplicaTimeout: a grant is asked for until it is confirmed.
	confirmed := func(key string) (l lease.Lease) {
		eventually(t, func() bool {
			g, err := s.Acquire(ctx, sess, []string{key})
			if errors.Is(err, lease.ErrUnavailable) {
				return false
			}
			must(t, err)
			l = g.Leases[0]
			return true
		}, "no replica confirms")
		return l
	}
	confirmed("k")
	replica.Freeze()
	_, err := s.Acquire(ctx, sess, []string{"k", "unconfirmed"})
	if !errors.Is(err, lease.ErrUnavailable) {
		t.Fatalf("with a stopped replica: %v", err)
	}
	_, err = s.Acquire(ctx, sess, []string{"unconfirmed"}) // writes nothing new, and is not confirmed either
	if !errors.Is(err, lease.ErrUnavailable) {
		t.Fatalf("asked again, with a stopped replica: %v", err)
	}
	held, err := s.Leases(ctx)
	must(t, err)
	replica.Thaw()
	if l := confirmed("unconfirmed"); l.Token != held[1].Token {
		t.Errorf("confirmed under token %d, granted under %d", l.Token, held[1].Token)
	}
}

// A master without the replicas that it must have takes no writes. That is what keeps a cut-off one from granting.
// Failure 57.
func TestIsolatedMasterStopsGranting(t *testing.T) {
	master := redistest.Start(t, "--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")
	replica := redistest.StartReplica(t, master)
	s := open(t, master.Client(), redisstore.Config{Fleet: "fleet"})
	eventually(t, func() bool { return s.Provision(ctx) == nil }, "the replica does not count")
	sess := lease.NewSession("owner", lease.DefaultMaxTTL)
	must(t, second(s.OpenSession(ctx, sess)))
	take(t, s, sess, "k")
	r, err := s.Check(ctx)
	must(t, err)
	for _, finding := range r.Findings {
		if finding.Setting == "min-replicas-to-write" {
			t.Errorf("Check: %v", finding)
		}
	}
	replica.Freeze()
	more := 0
	eventually(t, func() bool {
		more++
		_, err = s.Acquire(ctx, sess, names(more))
		return err != nil
	}, "an isolated master goes on granting")
	if !errors.Is(err, lease.ErrUnavailable) || !redis.IsNoReplicasError(err) {
		t.Fatal(err)
	}
	if _, err := s.Renew(ctx, sess); !errors.Is(err, lease.ErrUnavailable) {
		t.Fatalf("Renew: %v", err)
	}
}

// Redis begins a new replication history when its first replica is attached, and when it gives up the
// backlog of the last one. That reads like another server: a freeze, and nothing else.
func TestFaultNewReplicationHistory(t *testing.T) {
	t.Parallel()
	master, f := onServer(t, "--repl-backlog-ttl", "1", "--repl-timeout", "2")
	before, in := f.settle(), f.incarnation()
	replica := redistest.StartReplica(t, master)
	f.turned(in)
	f.thawed()
	f.kept(before)
	in = f.incarnation()
	replica.Stop()
	f.turned(in)
	f.thawed()
	f.kept(before)
}
