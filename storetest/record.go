package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// recorder makes calls and logs what their caller can know of them.
type recorder struct {
	s lease.Manager
	h *history
}

// fate turns an error into what is logged: done, over, unknown, or nothing of these: then nothing
// happened, or the store answered an error that the contract does not know.
func fate(err error) (done, over, unknown bool) {
	return err == nil, errors.Is(err, lease.ErrSessionLapsed), errors.Is(err, lease.ErrUnavailable)
}

// note logs a call that either did the one thing, or found the session over, or is unknown.
func (r recorder) note(o op, err error) {
	done, over, unknown := fate(err)
	switch {
	case done:
		r.h.add(o)
	case over:
		r.h.add(op{kind: opLapse, session: o.session, call: o.call, ret: o.ret})
	case unknown:
		o.unknown = true
		r.h.add(o)
	}
}

func (r recorder) open(ctx context.Context, s lease.Session) error {
	call := r.h.now()
	_, err := r.s.OpenSession(ctx, s)
	r.note(op{kind: opExtend, session: s.ID, ttl: s.TTL, call: call, ret: r.h.now()}, err)
	return err
}

func (r recorder) renew(ctx context.Context, s lease.Session) error {
	call := r.h.now()
	_, err := r.s.Renew(ctx, s)
	r.note(op{kind: opExtend, session: s.ID, ttl: s.TTL, call: call, ret: r.h.now()}, err)
	return err
}

func (r recorder) acquire(ctx context.Context, s lease.Session, keys ...string) (lease.Grant, error) {
	call := r.h.now()
	g, err := r.s.Acquire(ctx, s, keys)
	ret := r.h.now()
	if err != nil {
		for _, k := range keys {
			r.note(op{kind: opGrant, session: s.ID, key: k, call: call, ret: ret}, err)
		}
		return g, err
	}
	for _, l := range g.Leases {
		r.h.add(op{kind: opGrant, session: s.ID, key: l.Key, token: l.Token, call: call, ret: ret})
	}
	for _, f := range g.Refused {
		if !f.Busy {
			r.h.add(op{kind: opRefuse, session: s.ID, key: f.Key, call: call, ret: ret})
		}
	}
	return g, nil
}

func (r recorder) verify(ctx context.Context, s lease.Session, leases ...lease.Lease) (lease.Verification, error) {
	call := r.h.now()
	v, err := r.s.Verify(ctx, s, leases)
	ret := r.h.now()
	if err != nil {
		if _, over, _ := fate(err); over {
			r.note(op{kind: opVerify, session: s.ID, call: call, ret: ret}, err)
		}
		return v, err
	}
	gone := map[term]bool{}
	for _, l := range v.Lost {
		gone[term{l.Lease.Key, l.Lease.Token}] = true
	}
	for _, l := range leases {
		if !gone[term{l.Key, l.Token}] {
			r.h.add(op{kind: opVerify, session: s.ID, key: l.Key, token: l.Token, call: call, ret: ret})
		}
	}
	return v, nil
}

func (r recorder) release(ctx context.Context, s lease.Session, leases ...lease.Lease) error {
	call := r.h.now()
	err := r.s.Release(ctx, s, leases)
	ret := r.h.now()
	for _, l := range leases {
		r.note(op{kind: opRelease, session: s.ID, key: l.Key, token: l.Token, call: call, ret: ret}, err)
	}
	return err
}

func (r recorder) close(ctx context.Context, s lease.Session) error {
	call := r.h.now()
	err := r.s.CloseSession(ctx, s)
	r.note(op{kind: opClose, session: s.ID, call: call, ret: r.h.now()}, err)
	return err
}

// judge fails the check where the history breaks a rule.
func (e *env) judge(h *history) {
	e.Helper()
	ops := h.all()
	if bad := violations(ops, tolerance(e.unit)); len(bad) > 0 {
		e.Fatalf("%d of %d logged operations break a rule:%s", len(bad), len(ops), worst(bad, 5))
	}
}

// within returns a context that ends after d.
func (e *env) within(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(e.ctx, d)
}
