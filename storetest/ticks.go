package storetest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

func ticks() []check {
	has := []Capability{Ticks, Registry, Status, Sessions}
	return []check{
		{id: "G01", name: "a_trip_is_its_calls", run: g01, needs: has,
			sentence: "Each part of a Tick does and answers what the call of its name does."},
		{id: "G02", name: "parts_stand_alone", run: g02, needs: has,
			sentence: "A part that is refused, or whose arguments are bad, holds up no other."},
		{id: "G03", name: "the_renewal_comes_first", run: g03, needs: append(has, CanWipe),
			sentence: "The parts of a Tick happen in order: a Verify sees the session renewed."},
		{id: "G04", name: "absent_parts_do_nothing", run: g04, needs: has,
			sentence: "A Tick does no more than its parts say, and without parts nothing."},
		{id: "G05", name: "long_parts_are_whole", run: g05, needs: has,
			sentence: "A part of a Tick may be as long as the call of its name: any number of leases and of records."},
		{id: "G06", name: "the_parts_take_one_round_trip", run: g06, needs: append(has, CanDelay),
			sentence: "A Tick takes one round trip, however many parts it has."},
	}
}

// trip is a full Tick and what it needs to be judged.
type trip struct {
	tick.Parts
	held   lease.Lease
	gone   lease.Lease
	self   registry.Self
	record status.Record
}

// trip prepares one of the session: it verifies a lease that is held and one that is not.
func (e *env) trip(sess lease.Session) trip {
	t := trip{held: e.grant(e.b, sess, e.key()), gone: e.grant(e.b, sess, e.key()), self: e.self()}
	e.release(e.b, sess, t.gone)
	t.record = status.Record{Key: t.held.Key, State: status.Active, Token: t.held.Token, Info: "on a trip"}
	t.Parts = tick.Parts{
		Renew:     &tick.Renew{Session: sess},
		Verify:    &tick.Verify{Session: sess, Leases: []lease.Lease{t.gone, t.held}},
		Heartbeat: &tick.Heartbeat{Self: t.self, TTL: e.ages()},
		PutStatus: &tick.PutStatus{Owner: sess.Owner, TTL: e.ages(), Records: []status.Record{t.record}},
	}
	return t
}

// tick makes a trip through s.
func (e *env) tick(s Store, p tick.Parts) tick.Answers { return s.(tick.Ticker).Tick(e.ctx, p) }

// well fails the check where a part did not succeed.
func (e *env) well(a tick.Answers) {
	e.Helper()
	e.excuseAny(a.Renew.Err)
	e.must(anyOf(a), "a Tick of which nothing is wrong")
}

// anyOf joins the errors of a trip.
func anyOf(a tick.Answers) error {
	return errors.Join(a.Renew.Err, a.Verify.Err, a.Heartbeat.Err, a.PutStatus)
}

// verifies fails the check unless the trip told the lease that is held from the one that is not.
func (e *env) verifies(a tick.Answers, t trip) {
	e.Helper()
	lost := a.Verify.Value.Lost
	e.that(len(lost) == 1 && lost[0].Lease == t.gone && lost[0].Reason != "", "the Verify of a Tick lost %+v, want the lease %+v alone", lost, t.gone)
}

func g01(e *env) {
	ttl := e.cfg.MaxTTL / 2
	sess, rival := e.session(e.b, ttl), e.session(e.b, e.cfg.MaxTTL)
	t := e.trip(sess)
	e.sleep(e.unit / 2) // so that a renewal makes a difference
	before := time.Now()
	a := e.tick(e.a, t.Parts)
	e.well(a)
	least := time.Until(before.Add(ttl)) - e.precision() - time.Millisecond
	r := e.refused(e.b, rival, t.held.Key)
	e.that(r.RetryAfter >= least-e.unit/10, "after a Tick the session has %v left, want at least %v: it was not renewed", r.RetryAfter, least)
	e.verifies(a, t)
	called := e.renewed(e.b, sess)
	e.that(a.Renew.Value.Incarnation == called.Incarnation && a.Renew.Value.Revision == called.Revision, "the Renew of a Tick answered %+v, and a call %+v", a.Renew.Value, called)
	e.that(a.Verify.Value.Incarnation == called.Incarnation, "the Verify of a Tick answered %+v, want the incarnation %+v", a.Verify.Value, called.Incarnation)
	v := a.Heartbeat.Value
	m := e.member(e.b, t.self.Instance.ID)
	me, listed := v.Find(t.self.Instance.ID)
	e.that(listed && me.Equal(t.self.Instance) && v.Self.ID == me.ID && m.JoinedAt.Equal(v.Self.JoinedAt), "the view of a Tick is %+v, and the member %+v", v, m)
	e.present(e.b, t.record, sess.Owner)
	t.Heartbeat.Known = v.Generation
	a = e.tick(e.b, t.Parts) // again, through another handle, knowing the view
	e.well(a)
	e.verifies(a, t)
	e.that(a.Heartbeat.Value.Unchanged && a.Heartbeat.Value.Members == nil, "a Tick that knows the membership was answered %+v, want unchanged", a.Heartbeat.Value)
	if rv, ok := e.a.(lease.Revoker); ok {
		e.must(rv.Revoke(e.ctx, t.held.Key), "Revoke")
		a = e.tick(e.a, t.Parts)
		e.well(a)
		e.that(a.Renew.Value.Revision > called.Revision && len(a.Verify.Value.Lost) == 2, "after Revoke a Tick answered %+v and %+v, want a higher revision and both leases lost", a.Renew.Value, a.Verify.Value)
	}
}

func g02(e *env) {
	over := lease.NewSession(e.owner(), e.cfg.MaxTTL)
	sess := e.session(e.b, e.cfg.MaxTTL)
	t := e.trip(sess)
	lapsed := t.Parts
	lapsed.Renew, lapsed.Verify = &tick.Renew{Session: over}, &tick.Verify{Session: over, Leases: []lease.Lease{t.held}}
	a := e.tick(e.a, lapsed)
	e.lapsed(a.Renew.Err, "the Renew of a Tick")
	e.lapsed(a.Verify.Err, "the Verify of a Tick")
	e.must(errors.Join(a.Heartbeat.Err, a.PutStatus), "the parts behind those of a session that is over")
	e.member(e.b, t.self.Instance.ID)
	e.present(e.b, t.record, sess.Owner)

	refused := func(err error, part string) {
		e.Helper()
		e.that(errors.Is(err, lease.ErrInvalid), "a Tick with a bad %s answered %v for it, want ErrInvalid", part, err)
	}
	for part, spoil := range map[string]func(p *tick.Parts) func(*tick.Answers) *error{
		"Renew": func(p *tick.Parts) func(*tick.Answers) *error {
			p.Renew = &tick.Renew{Session: lease.Session{Owner: sess.Owner, TTL: sess.TTL}}
			return func(a *tick.Answers) *error { return &a.Renew.Err }
		},
		"Verify": func(p *tick.Parts) func(*tick.Answers) *error {
			p.Verify = &tick.Verify{Session: lease.Session{ID: sess.ID, Owner: sess.Owner}, Leases: p.Verify.Leases}
			return func(a *tick.Answers) *error { return &a.Verify.Err }
		},
		"Heartbeat": func(p *tick.Parts) func(*tick.Answers) *error {
			p.Heartbeat = &tick.Heartbeat{Self: t.self}
			return func(a *tick.Answers) *error { return &a.Heartbeat.Err }
		},
		"PutStatus": func(p *tick.Parts) func(*tick.Answers) *error {
			p.PutStatus = &tick.PutStatus{Owner: instance.ID(""), TTL: e.ages()}
			return func(a *tick.Answers) *error { return &a.PutStatus }
		},
	} {
		p := t.Parts
		its := spoil(&p)
		a := e.tick(e.a, p)
		refused(*its(&a), part)
		*its(&a) = nil
		e.excuseAny(a.Renew.Err)
		e.must(anyOf(a), "the other parts of a Tick with a bad %s", part)
	}
}

func g03(e *env) {
	sess := e.session(e.a, e.cfg.MaxTTL)
	l := e.grant(e.a, sess, e.key())
	e.sleep(e.unit / 10)
	e.cfg.Faults.Wipe(e.t, e.a)
	a := e.tick(e.a, tick.Parts{Renew: &tick.Renew{Session: sess}, Verify: &tick.Verify{Session: sess, Leases: []lease.Lease{l}}})
	e.well(a)
	e.frozen(a.Renew.Value.Incarnation)
	e.that(a.Verify.Value.Incarnation.Number == a.Renew.Value.Incarnation.Number && len(a.Verify.Value.Lost) == 0,
		"after a loss of data a Tick answered %+v and %+v, want the lease asserted again", a.Renew.Value, a.Verify.Value)
	e.held(e.b, sess, l)
}

func g04(e *env) {
	renewal := e.probeRenew()
	sess := e.session(e.b, e.cfg.MaxTTL)
	t := e.trip(sess)
	a := e.tick(e.a, tick.Parts{})
	e.must(anyOf(a), "a Tick without parts")
	e.well(e.tick(e.a, tick.Parts{Heartbeat: t.Heartbeat}))
	e.member(e.b, t.self.Instance.ID)
	renewal.undone()
	_, written := e.status(e.b, t.record.Key)
	e.that(!written, "a Tick without a status wrote %+v", t.record)
	other := e.trip(sess)
	e.well(e.tick(e.a, tick.Parts{Renew: other.Renew}))
	e.absent(e.b, other.self.Instance.ID)
	a = e.tick(e.a, tick.Parts{Verify: t.Verify, PutStatus: t.PutStatus})
	e.well(a)
	e.verifies(a, t)
	e.present(e.b, t.record, sess.Owner)
}

func g05(e *env) {
	const many = 1203
	sess := e.session(e.a, e.cfg.MaxTTL)
	got, _, err := e.acquire(e.a, sess, e.keys(many)...)
	e.must(err, "Acquire of %d keys", many)
	var leases []lease.Lease
	var records []status.Record
	for _, key := range e.keys(many) {
		l := got[key]
		records = append(records, status.Record{Key: key, State: status.Active, Token: l.Token})
		if len(leases)%100 == 7 {
			l.Token++ // of no term
		}
		leases = append(leases, l)
	}
	a := e.tick(e.a, tick.Parts{
		Renew: &tick.Renew{Session: sess}, Verify: &tick.Verify{Session: sess, Leases: leases},
		PutStatus: &tick.PutStatus{Owner: sess.Owner, TTL: e.ages(), Records: records},
	})
	e.well(a)
	var want, lost []string
	for i := 7; i < many; i += 100 {
		want = append(want, leases[i].Key)
	}
	for _, l := range a.Verify.Value.Lost {
		lost = append(lost, l.Lease.Key)
	}
	e.that(fmt.Sprint(lost) == fmt.Sprint(want), "a Verify of %d leases in a Tick lost %v, want %v", many, lost, want)
	all, err := e.b.AllStatuses(e.ctx)
	e.must(err, "AllStatuses")
	e.that(len(all) == many, "a Tick with %d records wrote %d", many, len(all))
}

func g06(e *env) {
	sess := e.session(e.a, e.cfg.MaxTTL)
	t := e.trip(sess)
	e.well(e.tick(e.a, t.Parts)) // a store may need more the first time
	// The machine may hold a trip up; four calls never take less than four delays.
	took := time.Hour
	e.cfg.Faults.Delay(e.t, e.a, e.unit)
	for range 3 {
		before := time.Now()
		a := e.tick(e.a, t.Parts)
		took = min(took, time.Since(before))
		e.well(a)
	}
	e.cfg.Faults.Delay(e.t, e.a, 0)
	e.that(took >= e.unit && took < 2*e.unit, "a Tick of four parts took %v where a call takes %v longer than usual", took, e.unit)
}

// probeTick is a Tick as one method: it has happened where all of its parts have.
func (e *env) probeTick() probe {
	renew, beat, put := e.probeRenew(), e.probeHeartbeat(), e.probePut()
	var at tick.Parts
	spy := spying{Store: e.b, parts: &at}
	for _, p := range []probe{renew, beat, put} {
		_ = p.do(e.ctx, spy) // it only notes the arguments
	}
	each := func(f func(probe) func()) func() {
		return func() {
			for _, p := range []probe{renew, beat, put} {
				f(p)()
			}
		}
	}
	return probe{name: "Tick",
		do: func(ctx context.Context, s Store) error {
			_ = renew.do(ctx, spy) // it is sent now
			return anyOf(s.(tick.Ticker).Tick(ctx, at))
		},
		undone: each(func(p probe) func() { return p.undone }),
		done:   each(func(p probe) func() { return p.done }),
	}
}

// spying is a store that notes what it is called with.
type spying struct {
	Store
	parts *tick.Parts
}

func (s spying) Renew(_ context.Context, sess lease.Session) (lease.Renewal, error) {
	s.parts.Renew = &tick.Renew{Session: sess}
	return lease.Renewal{}, nil
}

func (s spying) Heartbeat(_ context.Context, self registry.Self, ttl time.Duration, known registry.Generation) (registry.View, error) {
	s.parts.Heartbeat = &tick.Heartbeat{Self: self, TTL: ttl, Known: known}
	return registry.View{}, nil
}

func (s spying) PutStatus(_ context.Context, owner instance.ID, ttl time.Duration, records []status.Record) error {
	s.parts.PutStatus = &tick.PutStatus{Owner: owner, TTL: ttl, Records: records}
	return nil
}
