package redisstore_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

const (
	sessionsKey = "{tenure:fleet}:sessions"
	leasesKey   = "{tenure:fleet}:leases"
	markerKey   = "{tenure:fleet}:marker"
	freeze      = lease.DefaultMaxTTL
)

// virtually runs f in virtual time with a provisioned store and a session on it.
func virtually(t *testing.T, f func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		v := redistest.StartVirtual(t)
		s, sess := ready(t, nil, v.Client(), redisstore.Config{})
		f(t, v, s, sess)
	})
}

func renew(t *testing.T, s *redisstore.Store, sess lease.Session) lease.Incarnation {
	t.Helper()
	r, err := s.Renew(ctx, sess)
	must(t, err)
	return r.Incarnation
}

// rideOut renews the session until the freeze is over.
func rideOut(t *testing.T, s *redisstore.Store, sess lease.Session) {
	t.Helper()
	for renew(t, s, sess).FrozenFor > 0 {
		time.Sleep(freeze / 5)
	}
}

func holds(t *testing.T, s *redisstore.Store, sess lease.Session, l lease.Lease) bool {
	t.Helper()
	v, err := s.Verify(ctx, sess, []lease.Lease{l})
	must(t, err)
	return len(v.Lost) == 0
}

// Whatever is missing from the server's data is noticed by the next call, holders keep what they have,
// and nobody else gets it.
// Failure 45.
func TestMissingDataBeginsAnIncarnation(t *testing.T) {
	for name, hurt := range map[string]func(v *redistest.Virtual, sess lease.Session){
		"a lease record":        func(v *redistest.Virtual, _ lease.Session) { v.HDel(leasesKey, "k") },
		"all lease records":     func(v *redistest.Virtual, _ lease.Session) { v.Del(leasesKey) },
		"a session record":      func(v *redistest.Virtual, sess lease.Session) { v.HDel(sessionsKey, sess.ID) },
		"all session records":   func(v *redistest.Virtual, _ lease.Session) { v.Del(sessionsKey) },
		"the marker":            func(v *redistest.Virtual, _ lease.Session) { v.Del(markerKey) },
		"everything":            func(v *redistest.Virtual, _ lease.Session) { v.FlushAll() },
		"another server's life": func(v *redistest.Virtual, _ lease.Session) { v.Restart() },
		"a record too many":     func(v *redistest.Virtual, _ lease.Session) { v.HSet(leasesKey, "stray", "1 1 1 0 1 1 xy") },
	} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
				l := take(t, s, sess, "k")
				before := renew(t, s, sess)
				time.Sleep(time.Second)
				hurt(v, sess)
				in := renew(t, s, sess)
				if in.Number <= before.Number || in.FrozenFor != freeze {
					t.Fatalf("the incarnation went from %+v to %+v", before, in)
				}
				if !holds(t, s, sess, l) {
					t.Fatal("the holder lost its lease")
				}
				rival := lease.NewSession("rival", freeze)
				must(t, second(s.OpenSession(ctx, rival)))
				g, err := s.Acquire(ctx, rival, []string{"k", "free"})
				must(t, err)
				if len(g.Leases) != 0 {
					t.Fatalf("granted in a freeze: %+v", g.Leases)
				}
				rideOut(t, s, sess)
				if now := renew(t, s, sess); now.Number != in.Number {
					t.Fatalf("the incarnation went on from %d to %d", in.Number, now.Number)
				}
				rival = lease.NewSession("rival", freeze)
				must(t, second(s.OpenSession(ctx, rival)))
				g, err = s.Acquire(ctx, rival, []string{"k", "free"})
				must(t, err)
				if len(g.Refused) != 1 || g.Refused[0].Owner != sess.Owner || !holds(t, s, sess, l) {
					t.Fatalf("after the freeze the rival got %+v", g)
				}
			})
		})
	}
}

// A record that cannot be read is taken for lost: cleared away, noticed, and healed.
// Failure 41.
func TestUnreadableRecordsCountAsLost(t *testing.T) {
	for name, key := range map[string]string{"lease": leasesKey, "session": sessionsKey} {
		t.Run(name, func(t *testing.T) {
			virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
				l := take(t, s, sess, "k")
				rival := lease.NewSession("rival", freeze)
				must(t, second(s.OpenSession(ctx, rival)))
				before := renew(t, s, sess)
				field := map[string]string{leasesKey: "k", sessionsKey: sess.ID}[key]
				v.HSet(key, field, "scribbled over")
				for range 2 { // whoever comes across it first
					g, err := s.Acquire(ctx, rival, []string{"k"})
					if len(g.Leases) != 0 || err != nil && !errors.Is(err, lease.ErrUnavailable) {
						t.Fatalf("%+v, %v", g, err)
					}
				}
				if in := renew(t, s, sess); in.Number == before.Number || in.FrozenFor == 0 || !holds(t, s, sess, l) {
					t.Fatalf("the incarnation is %+v after %+v", in, before)
				}
			})
		})
	}
}

// Where INFO is not allowed the marker and the counts still tell, and Check says what is missing.
func TestWithoutInfoTheMarkerAloneCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := redistest.StartVirtual(t)
		v.HideInfo()
		s, sess := ready(t, nil, v.Client(), redisstore.Config{})
		l := take(t, s, sess, "k")
		before := renew(t, s, sess)
		v.Restart()
		if in := renew(t, s, sess); in != before {
			t.Fatalf("without INFO the incarnation went from %+v to %+v", before, in)
		}
		time.Sleep(time.Second)
		v.FlushAll()
		if in := renew(t, s, sess); in.Number <= before.Number || !holds(t, s, sess, l) {
			t.Fatalf("the wipe went unnoticed: %+v", in)
		}
		r, err := s.Check(ctx)
		must(t, err)
		if len(r.Findings) == 0 || r.Findings[0].Setting != "INFO" {
			t.Fatalf("Check says %+v", r.Findings)
		}
		// The first one who may read INFO adds the fingerprint, without a freeze.
		rideOut(t, s, sess)
		v.ShowInfo()
		in := renew(t, s, sess)
		take(t, s, sess, "k2")
		if now := renew(t, s, sess); now.Number != in.Number {
			t.Fatalf("adding the fingerprint froze the fleet: %+v", now)
		}
		v.Restart()
		if now := renew(t, s, sess); now.Number == in.Number {
			t.Fatal("the restart went unnoticed")
		}
	})
}

// The fleet remembers the longest MaxTTL that any client named, so that clients of another opinion
// do not cut a freeze short.
// Failure 39.
func TestTheLongestMaxTTLRules(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
		longer := open(t, v.Client(), redisstore.Config{Fleet: "fleet", MaxTTL: time.Minute})
		must(t, second(longer.OpenSession(ctx, lease.NewSession("o", time.Minute))))
		v.Restart()
		if in := renew(t, s, sess); in.FrozenFor != time.Minute {
			t.Fatalf("frozen for %v", in.FrozenFor)
		}
	})
}

// Somebody who knows a shorter MaxTTL, such as a person with a command line, is the first to call after the loss of
// everything. Whoever knows the longer one has the freeze last for it, counted from when it began.
func TestALongerMaxTTLLengthensTheFreeze(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
		must(t, v.Client().FlushDB(ctx).Err())
		if in := renew(t, s, sess); in.FrozenFor != freeze {
			t.Fatalf("frozen for %v", in.FrozenFor)
		}
		time.Sleep(freeze / 2)
		longer := open(t, v.Client(), redisstore.Config{Fleet: "fleet", MaxTTL: time.Minute})
		late := lease.NewSession("late", time.Minute)
		in, err := longer.OpenSession(ctx, late)
		if must(t, err); in.FrozenFor != time.Minute-freeze/2 {
			t.Fatalf("the longer MaxTTL is frozen for %v", in.FrozenFor)
		}
		if in := renew(t, s, sess); in.FrozenFor != time.Minute-freeze/2 {
			t.Fatalf("the shorter MaxTTL is frozen for %v", in.FrozenFor)
		}
		time.Sleep(in.FrozenFor)
		if g, err := longer.Acquire(ctx, late, []string{"k"}); err != nil || len(g.Leases) != 1 {
			t.Fatalf("after the freeze: %+v, %v", g, err)
		}
	})
}

// A clock that is set back by an hour lengthens no freeze and no dead session to an hour.
// Failures 5, 41.
func TestClockSetBackStopsNothing(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
		dead := lease.NewSession("dead", freeze)
		must(t, second(s.OpenSession(ctx, dead)))
		l := take(t, s, dead, "k")
		v.Step(-time.Hour)
		rival := lease.NewSession("rival", freeze)
		must(t, second(s.OpenSession(ctx, rival)))
		g, err := s.Acquire(ctx, rival, []string{"k"})
		must(t, err)
		if len(g.Refused) != 1 || g.Refused[0].RetryAfter > freeze {
			t.Fatalf("%+v", g)
		}
		time.Sleep(freeze / 2)
		renew(t, s, rival)
		time.Sleep(freeze / 2)
		if next := take(t, s, rival, "k"); next.Token <= l.Token {
			t.Fatalf("token %d after %d", next.Token, l.Token)
		}
		v.Restart()
		renew(t, s, rival)
		v.Step(-time.Hour)
		if in := renew(t, s, rival); in.FrozenFor > freeze {
			t.Fatalf("frozen for %v", in.FrozenFor)
		}
		time.Sleep(freeze - time.Millisecond)
		if in := renew(t, s, rival); in.FrozenFor > time.Millisecond {
			t.Fatalf("still frozen for %v", in.FrozenFor)
		}
	})
}

// What is over is cleared away by later calls, in small steps, and the counts stay right.
func TestGarbageIsCleared(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
		in := renew(t, s, sess)
		var last lease.Lease
		for i := range 60 {
			gone := lease.NewSession("gone", time.Second)
			must(t, second(s.OpenSession(ctx, gone)))
			last = take(t, s, gone, fmt.Sprintf("gone-%d", i)) // a key that nobody wants again
			take(t, s, sess, fmt.Sprintf("kept-%d", i))
			time.Sleep(freeze / 3)
			renew(t, s, sess)
		}
		sessions, _ := v.HKeys(sessionsKey)
		leases, _ := v.HKeys(leasesKey)
		if len(sessions) > 10 || len(leases) > 60+10 {
			t.Errorf("%d sessions and %d leases are remembered", len(sessions), len(leases))
		}
		if now := renew(t, s, sess); now.Number != in.Number {
			t.Error("clearing began a new incarnation")
		}
		held, err := s.Leases(ctx)
		must(t, err)
		if len(held) != 61 { // the last of the gone still lives, by a session of one second
			held = slicesWithout(held, "gone-")
			if len(held) != 60 {
				t.Errorf("%d leases are held, want 60", len(held))
			}
		}
		if next := take(t, s, sess, last.Key); next.Token <= last.Token {
			t.Errorf("token %d after %d", next.Token, last.Token)
		}
	})
}

// Statuses of owners that are gone are cleared away too.
func TestStatusGarbageIsCleared(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
		for i := range 40 {
			record := []status.Record{{Key: fmt.Sprintf("gone-%d", i), State: status.Active, Token: 1}}
			must(t, s.PutStatus(ctx, instance.ID(fmt.Sprintf("owner-%d", i)), time.Second, record))
			time.Sleep(2 * time.Second)
		}
		statuses, _ := v.HKeys("{tenure:fleet}:statuses")
		owners, _ := v.HKeys("{tenure:fleet}:owners")
		if len(statuses) > 3 || len(owners) > 3 {
			t.Errorf("%d statuses and %d owners are remembered", len(statuses), len(owners))
		}
	})
}

func slicesWithout(leases []lease.Lease, prefix string) (kept []lease.Lease) {
	for _, l := range leases {
		if !strings.HasPrefix(l.Key, prefix) {
			kept = append(kept, l)
		}
	}
	return kept
}

// A session that is opened again long after it was forgotten is a new one: it does not inherit what
// its former life left behind.
// Failure 45.
func TestForgottenSessionInheritsNothing(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
		l := take(t, s, sess, "k")
		time.Sleep(3 * freeze)
		if _, err := s.OpenSession(ctx, sess); !errors.Is(err, lease.ErrSessionLapsed) {
			t.Fatalf("OpenSession of a lapsed session: %v", err)
		}
		must(t, second(s.OpenSession(ctx, lease.NewSession("other", time.Second)))) // purges
		must(t, second(s.OpenSession(ctx, sess)))
		if holds(t, s, sess, l) {
			t.Fatal("the lease came back to life")
		}
		if next := take(t, s, sess, "k"); next.Token <= l.Token {
			t.Fatalf("token %d after %d", next.Token, l.Token)
		}
	})
}

// A token that no store has granted is not believed, even in a freeze.
func TestAbsurdTokensAreNotAsserted(t *testing.T) {
	virtually(t, func(t *testing.T, v *redistest.Virtual, s *redisstore.Store, sess lease.Session) {
		l := take(t, s, sess, "k")
		v.FlushAll()
		renew(t, s, sess)
		for _, token := range []uint64{1<<64 - 1, 1 << 63, 1<<53 + 1} {
			absurd := l
			absurd.Token = token
			if holds(t, s, sess, absurd) {
				t.Fatalf("the token %d was believed", token)
			}
		}
		if !holds(t, s, sess, l) {
			t.Fatal("the true token was not believed")
		}
	})
}
