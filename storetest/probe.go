package storetest

import (
	"context"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// probe is one method of a store with a way to tell whether a call of it had its effect. Checks of
// contexts, lost replies and closed handles try every method through it.
type probe struct {
	name   string
	do     func(ctx context.Context, s Store) error
	undone func() // fails the check where the call had an effect; nil for calls that have none
	done   func() // fails the check where the call had no effect
}

// probes prepares one probe per method that the store has. Effects are read through b.
func (e *env) probes() []probe {
	list := []probe{e.probeOpen(), e.probeAcquire(), e.probeRenew(), e.probeVerify(), e.probeRelease(), e.probeClose()}
	if _, ok := e.a.(lease.Lister); ok {
		list = append(list, probe{name: "Leases", do: func(ctx context.Context, s Store) error {
			_, err := s.(lease.Lister).Leases(ctx)
			return err
		}})
	}
	if _, ok := e.a.(lease.Revoker); ok {
		list = append(list, e.probeRevoke())
	}
	if e.has(Registry) {
		list = append(list, e.probeHeartbeat(), e.probeMembers(), e.probeDrain(), e.probeLeave())
	}
	if e.has(Status) {
		list = append(list, e.probePut(), e.probeStatuses())
	}
	if e.has(Targets) {
		list = append(list, e.probePutTargets(), e.probeTargets())
	}
	if e.has(Ticks) && e.has(Registry) && e.has(Status) && e.has(Sessions) {
		list = append(list, e.probeTick())
	}
	return list
}

func (e *env) probeOpen() probe {
	sess := lease.NewSession(e.owner(), e.cfg.MaxTTL)
	p := probe{name: "OpenSession",
		do:   func(ctx context.Context, s Store) error { _, err := s.OpenSession(ctx, sess); return err },
		done: func() { e.renewed(e.b, sess) },
	}
	if e.has(Sessions) {
		p.undone = func() {
			_, err := e.b.Renew(e.ctx, sess)
			e.lapsed(err, "Renew of a session that was not opened")
		}
	}
	return p
}

func (e *env) probeAcquire() probe {
	sess, other := e.session(e.b, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	k := e.key()
	var first uint64 // the token of the first answer that came
	return probe{name: "Acquire",
		do: func(ctx context.Context, s Store) error {
			g, err := s.Acquire(ctx, sess, []string{k})
			if err == nil && len(g.Leases) == 1 && first == 0 {
				first = g.Leases[0].Token
			}
			return err
		},
		undone: func() { l := e.grant(e.b, other, k); e.release(e.b, other, l) },
		done: func() {
			e.refused(e.b, other, k)
			again := e.grant(e.b, sess, k)
			e.that(again.Token == first, "one Acquire, sent twice, was granted twice: tokens %d and %d", first, again.Token)
		},
	}
}

// probeRenew reads the effect from what a refusal says that the session has left.
func (e *env) probeRenew() probe {
	ttl := e.cfg.MaxTTL / 2
	rival := e.session(e.b, e.cfg.MaxTTL)
	var sess lease.Session
	life := timed(ttl, func() { sess = e.session(e.b, ttl) })
	l := e.grant(e.b, sess, e.key())
	e.sleep(e.unit / 2) // so that a renewal makes a difference
	var sent time.Time
	do := func(ctx context.Context, s Store) error {
		sent = time.Now()
		_, err := s.Renew(ctx, sess)
		return err
	}
	if !e.has(Sessions) { // its RetryAfter is a guess
		return probe{name: "Renew", do: do, done: func() { e.held(e.b, sess, l) }}
	}
	return probe{name: "Renew",
		do: do,
		undone: func() {
			before := time.Now()
			r := e.refused(e.b, rival, l.Key)
			e.that(r.RetryAfter <= life.latest.Sub(before)+e.unit/4, "the session has %v left: it was renewed", r.RetryAfter)
		},
		done: func() {
			r := e.refused(e.b, rival, l.Key)
			least := time.Until(sent.Add(ttl)) - e.precision() - time.Millisecond
			e.that(r.RetryAfter >= least, "the session has %v left, want at least %v: it was not renewed", r.RetryAfter, least)
			e.held(e.b, sess, l)
		},
	}
}

func (e *env) probeVerify() probe {
	sess := e.session(e.b, e.cfg.MaxTTL)
	l := e.grant(e.b, sess, e.key())
	return probe{name: "Verify", do: func(ctx context.Context, s Store) error {
		_, err := s.Verify(ctx, sess, []lease.Lease{l})
		return err
	}}
}

func (e *env) probeRelease() probe {
	sess, other := e.session(e.b, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	l := e.grant(e.b, sess, e.key())
	return probe{name: "Release",
		do:     func(ctx context.Context, s Store) error { return s.Release(ctx, sess, []lease.Lease{l}) },
		undone: func() { e.held(e.b, sess, l) },
		done:   func() { e.lost(e.b, sess, l); e.grant(e.b, other, l.Key) },
	}
}

func (e *env) probeClose() probe {
	sess, other := e.session(e.b, e.cfg.MaxTTL), e.session(e.b, e.cfg.MaxTTL)
	l := e.grant(e.b, sess, e.key())
	return probe{name: "CloseSession",
		do:     func(ctx context.Context, s Store) error { return s.CloseSession(ctx, sess) },
		undone: func() { e.held(e.b, sess, l); e.renewed(e.b, sess) },
		done:   func() { e.grant(e.b, other, l.Key) },
	}
}

func (e *env) probeRevoke() probe {
	sess := e.session(e.b, e.cfg.MaxTTL)
	l := e.grant(e.b, sess, e.key())
	before := e.renewed(e.b, sess).Revision
	return probe{name: "Revoke",
		do:     func(ctx context.Context, s Store) error { return s.(lease.Revoker).Revoke(ctx, l.Key) },
		undone: func() { e.held(e.b, sess, l) },
		done: func() {
			e.lost(e.b, sess, l)
			now := e.renewed(e.b, sess).Revision
			e.that(now > before, "after Revoke the revision is %d, want above %d", now, before)
		},
	}
}

func (e *env) probeHeartbeat() probe {
	self := e.self()
	return probe{name: "Heartbeat",
		do:     func(ctx context.Context, s Store) error { _, err := s.Heartbeat(ctx, self, e.ages(), 0); return err },
		undone: func() { e.absent(e.b, self.Instance.ID) },
		done:   func() { e.member(e.b, self.Instance.ID) },
	}
}

func (e *env) probeMembers() probe {
	return probe{name: "Members", do: func(ctx context.Context, s Store) error { _, err := s.Members(ctx); return err }}
}

func (e *env) probeDrain() probe {
	self := e.self()
	e.beat(e.b, self, e.ages())
	want := func(draining bool) {
		m := e.member(e.b, self.Instance.ID)
		e.that(m.Draining == draining, "the member is draining: %v, want %v", m.Draining, draining)
	}
	return probe{name: "BeginDrain",
		do:     func(ctx context.Context, s Store) error { return s.BeginDrain(ctx, self.Instance.ID) },
		undone: func() { want(false) },
		done:   func() { want(true) },
	}
}

func (e *env) probeLeave() probe {
	self := e.self()
	e.beat(e.b, self, e.ages())
	return probe{name: "Leave",
		do:     func(ctx context.Context, s Store) error { return s.Leave(ctx, self.Instance.ID) },
		undone: func() { e.member(e.b, self.Instance.ID) },
		done:   func() { e.absent(e.b, self.Instance.ID) },
	}
}

func (e *env) probePut() probe {
	owner := instance.New()
	r := status.Record{Key: e.key(), State: status.Active, Token: 5}
	return probe{name: "PutStatus",
		do: func(ctx context.Context, s Store) error {
			return s.PutStatus(ctx, owner, e.ages(), []status.Record{r})
		},
		undone: func() {
			_, ok := e.status(e.b, r.Key)
			e.that(!ok, "the record was written")
		},
		done: func() { e.present(e.b, r, owner) },
	}
}

func (e *env) probeStatuses() probe {
	return probe{name: "Statuses and AllStatuses", do: func(ctx context.Context, s Store) error {
		if _, err := s.Statuses(ctx, []string{"k"}); err != nil {
			return err
		}
		_, err := s.AllStatuses(ctx)
		return err
	}}
}
