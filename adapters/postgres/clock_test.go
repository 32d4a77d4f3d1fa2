package postgresstore

import (
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// The server's clock cannot be set by a test. What it leaves behind when it is set back can: ends that lie further away
// than anybody asked for.

// frozenFleet is a fleet whose server has just lost data, frozen for its MaxTTL.
func frozenFleet(t *testing.T, srv *server, maxTTL time.Duration) (*Store, lease.Session) {
	t.Helper()
	s := migrated(t, srv, Config{MaxTTL: maxTTL})
	sess := begun(t, s, maxTTL)
	srv.exec(t, "UPDATE tenure.fleet SET life = 'another' WHERE fleet = $1", s.fleet)
	if r, err := s.Renew(ctx(t), sess); err != nil || r.Incarnation.FrozenFor <= 0 {
		t.Fatalf("%+v, %v: not frozen", r, err)
	}
	return s, sess
}

// A freeze that a clock of before set to end next year ends after MaxTTL.
// Failure 41.
func TestAClockSetBackLengthensNoFreeze(t *testing.T) {
	srv := needServer(t)
	const maxTTL = 5 * time.Minute
	s, sess := frozenFleet(t, srv, maxTTL)
	srv.exec(t, "UPDATE tenure.fleet SET frozen_until = frozen_until + interval '1 year' WHERE fleet = $1", s.fleet)
	r, err := s.Renew(ctx(t), sess)
	must(t, err)
	if left := r.Incarnation.FrozenFor; left <= 0 || left > maxTTL {
		t.Errorf("frozen for %v, want at most %v", left, maxTTL)
	}
}

// Somebody who knows a shorter MaxTTL began the incarnation. Whoever knows the longer one has the freeze last for
// it, counted from when it began; and the next freeze lasts as long from the start.
func TestALongerMaxTTLLengthensTheFreeze(t *testing.T) {
	srv := needServer(t)
	const short, long = 5 * time.Minute, 20 * time.Minute
	s, sess := frozenFleet(t, srv, short)
	longer := open(t, srv.dsn(), s.fleet, Config{MaxTTL: long})
	check := func(what string, in lease.Incarnation) {
		t.Helper()
		if in.FrozenFor <= long-time.Minute || in.FrozenFor > long {
			t.Errorf("%s: frozen for %v, want %v", what, in.FrozenFor, long)
		}
	}
	in, err := longer.OpenSession(ctx(t), lease.NewSession("late", long))
	must(t, err)
	check("the longer MaxTTL", in)
	r, err := s.Renew(ctx(t), sess)
	must(t, err)
	check("the shorter MaxTTL", r.Incarnation)
	srv.exec(t, "UPDATE tenure.fleet SET life = 'another' WHERE fleet = $1", s.fleet)
	r, err = s.Renew(ctx(t), sess)
	must(t, err)
	check("after the next loss", r.Incarnation)
}

// A session that is longer than those before it is known to the marker before it is open.
func TestLongerSessionsAreKnownToTheNextFreeze(t *testing.T) {
	srv := needServer(t)
	const short, long = 5 * time.Minute, 20 * time.Minute
	s := migrated(t, srv, Config{MaxTTL: short})
	sess := begun(t, s, short)
	begun(t, open(t, srv.dsn(), s.fleet, Config{MaxTTL: long}), long)
	srv.exec(t, "UPDATE tenure.fleet SET life = 'another' WHERE fleet = $1", s.fleet)
	r, err := s.Renew(ctx(t), sess)
	must(t, err)
	if left := r.Incarnation.FrozenFor; left <= short {
		t.Errorf("frozen for %v, and there is a session of %v", left, long)
	}
}

// A member that has died is forgotten after its own TTL, whatever its record says; one that lives stays.
// Failure 41.
func TestAClockSetBackKeepsNoDeadMember(t *testing.T) {
	srv := needServer(t)
	const ttl = 3 * time.Second
	s := migrated(t, srv, Config{})
	beat := func(id instance.ID) registry.View {
		t.Helper()
		v, err := s.Heartbeat(ctx(t), registry.Self{Instance: instance.Instance{ID: id}}, ttl, 0)
		must(t, err)
		return v
	}
	beat("dead")
	beat("alive")
	srv.exec(t, "UPDATE tenure.member SET expires_at = expires_at + interval '1 hour' WHERE fleet = $1", s.fleet)
	set := time.Now()
	for len(beat("alive").Members) > 1 {
		if time.Since(set) > 4*ttl {
			t.Fatalf("a dead member is there %v later", time.Since(set))
		}
		time.Sleep(ttl / 20)
	}
	if lived := time.Since(set); lived < ttl/2 {
		t.Errorf("it was given up after %v", lived)
	}
}
