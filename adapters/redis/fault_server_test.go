package redisstore_test

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/lease"
)

func redisOptions(addr string) *redis.Options { return redistest.Options(addr) }

// onServer starts three keepers and six keys on one private server.
func onServer(t *testing.T, args ...string) (*redistest.Server, *fleet) {
	t.Helper()
	server := redistest.Start(t, args...)
	f := startFleet(t, 3, 6, func(int) redis.UniversalClient { return redistest.Client(t, patient(server.Addr)) })
	f.settle()
	return server, f
}

// The server forgets its scripts at a restart, a fail-over, or when told to: nobody notices.
// Failure 59.
func TestFaultScriptFlush(t *testing.T) {
	t.Parallel()
	server, f := onServer(t)
	before, in := f.settle(), f.incarnation()
	for end := time.Now().Add(faultTTL); time.Now().Before(end); time.Sleep(3 * time.Millisecond) {
		server.Admin("SCRIPT", "FLUSH")
	}
	f.kept(before)
	if now := f.incarnation(); now != in || len(f.losses()) > 0 {
		t.Errorf("the incarnation went from %d to %d, lost: %v", in, now, f.losses())
	}
}

// All data is gone while everybody lives. Expected: a freeze, and every holder keeps what it has.
// Failure 57.
func TestFaultFlushAll(t *testing.T) {
	t.Parallel()
	server, f := onServer(t)
	before, in := f.settle(), f.incarnation()
	server.Admin("FLUSHALL")
	f.turned(in)
	f.kept(before)
	f.thawed()
	f.kept(before)
	// The floor is gone; tokens grow all the same.
	for _, h := range f.holders {
		for _, hold := range h.current() {
			hold.Release()
		}
	}
	eventually(t, func() bool { return len(f.terms()) == len(f.keys) && f.terms()[f.keys[0]] != before[f.keys[0]] }, "nobody took over")
	f.renewedAll(before, f.settle())
}

// One record is deleted by hand. Expected: the counts tell, and its holder keeps it.
func TestFaultRecordDeletedByHand(t *testing.T) {
	t.Parallel()
	server, f := onServer(t)
	for _, key := range []string{leasesKey, sessionsKey} {
		before, in := f.settle(), f.incarnation()
		fields := server.Admin("HKEYS", key).([]any)
		server.Admin("HDEL", key, fields[0])
		f.turned(in)
		f.thawed()
		f.kept(before)
	}
}

// The server restarts without any data. Expected: as after a wipe.
// Failure 53.
func TestFaultRestartWithoutData(t *testing.T) {
	t.Parallel()
	server, f := onServer(t)
	before, in := f.settle(), f.incarnation()
	server.Stop()
	time.Sleep(faultTTL / 8)
	server.Restart()
	f.turned(in)
	f.thawed()
	f.kept(before)
}

// The server restarts from a snapshot that is older than the latest grants. Expected: the present
// holders keep their terms, though the snapshot names others.
func TestFaultRestartFromAnOldSnapshot(t *testing.T) {
	t.Parallel()
	server, f := onServer(t)
	old := f.settle()
	server.Admin("SAVE")
	for _, h := range f.holders {
		for _, hold := range h.current() {
			hold.Release()
		}
	}
	eventually(t, func() bool {
		now := f.terms()
		for key, l := range old {
			if now[key].Token <= l.Token {
				return false
			}
		}
		return true
	}, "the keys did not move")
	before, in := f.settle(), f.incarnation()
	server.Stop()
	server.Restart()
	f.turned(in)
	f.thawed()
	f.kept(before)
}

// The server stands still and comes back. Expected: a short pause costs nothing; a long one ends every
// term at its local deadline, before anybody else could get the key.
func TestFaultStoppedServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		pause time.Duration
		keep  bool
	}{
		"a quarter of the TTL": {faultTTL / 4, true},
		"one TTL":              {faultTTL, false},
		"two TTLs":             {2 * faultTTL, false},
		"three TTLs":           {3 * faultTTL, false},
	} {
		t.Run(name, func(t *testing.T) {
			server, f := onServer(t)
			before, in := f.settle(), f.incarnation()
			server.Freeze()
			begun := time.Now()
			if !c.keep {
				deadline := begun.Add(faultTTL - faultTiming.Margin + 100*time.Millisecond)
				time.Sleep(time.Until(deadline))
				if n := len(f.terms()); n != 0 {
					t.Errorf("%v after the server stopped, %d terms are still believed in", time.Since(begun), n)
				}
			}
			time.Sleep(time.Until(begun.Add(c.pause)))
			server.Thaw()
			if c.keep {
				time.Sleep(faultTTL / 2)
				f.kept(before)
				return
			}
			f.renewedAll(before, f.settle())
			if now := f.incarnation(); now != in {
				t.Errorf("nothing was lost, and the incarnation went from %d to %d", in, now)
			}
			if lost := f.losses(); lost[lease.ReasonUnreachable]+lost[lease.ReasonExpired] == 0 {
				t.Errorf("lost for other reasons: %v", lost)
			}
		})
	}
}
