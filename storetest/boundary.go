package storetest

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func boundary() []check {
	return []check{
		{id: "X02", name: "alive_before_the_expiry_and_over_from_it_on", run: x02, slow: true, needs: []Capability{Sessions},
			sentence: "A session is alive while the store's clock is before its expiry, and over from that instant on."},
		{id: "X10", name: "takeover_and_late_renewal_never_both_win", run: x10, slow: true, needs: []Capability{Sessions},
			sentence: "Takeover and a late renewal are serialised by the store: there is no instant at which both succeed."},
	}
}

func x02(e *env) {
	ttl := 4 * e.unit
	sa, sb := e.session(e.a, ttl), e.session(e.b, e.long())
	l := e.grant(e.a, sa, e.key())
	e.sleep(e.unit)
	r := e.refused(e.b, sb, l.Key)
	e.sleep(r.RetryAfter + e.grace())
	_, err := e.a.Renew(e.ctx, sa)
	e.that(errors.Is(err, lease.ErrSessionLapsed), "Renew at the moment of expiry (%v after the refusal that told it) answered %v, want ErrSessionLapsed", r.RetryAfter, err)
	_, err = e.a.Verify(e.ctx, sa, []lease.Lease{l})
	e.lapsed(err, "Verify")
	e.grant(e.b, sb, l.Key)
	e.over(e.a, sa, l)
}

// x10 lets many holders renew at about the moment of their expiry, each with a rival who polls.
func x10(e *env) {
	h := newHistory()
	seed := e.rnd.Uint64()
	errs := make(chan error, 64)
	var wg sync.WaitGroup
	for i := range 12 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(seed, uint64(i)))
			for round := range 3 {
				if err := e.duel(h, r, fmt.Sprintf("duel-%d-%d", i, round)); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	close(errs)
	for err := range errs {
		e.Fatalf("a call at the boundary failed: %v", err)
	}
	e.judge(h)
}

func (e *env) duel(h *history, r *rand.Rand, key string) error {
	ttl := e.unit + e.unit/2
	a, b := recorder{e.a, h}, recorder{e.b, h}
	sa, sb := lease.NewSession(e.owner(), ttl), lease.NewSession(e.owner(), e.long())
	if err := errors.Join(a.open(e.ctx, sa), b.open(e.ctx, sb)); err != nil {
		return err
	}
	opened := time.Now()
	g, err := a.acquire(e.ctx, sa, key)
	if err != nil {
		return ignoreLapse(err)
	}
	end := opened.Add(ttl)
	late := end.Add(time.Duration(r.IntN(9)-5) * time.Millisecond)
	var rival error
	var wg sync.WaitGroup
	wg.Go(func() { rival = poll(e.ctx, b, sb, key, end.Add(-6*time.Millisecond), end.Add(12*time.Millisecond)) })
	pause(e.ctx, time.Until(late))
	for range 4 {
		if err = a.renew(e.ctx, sa); err != nil {
			break
		}
		if _, err = a.verify(e.ctx, sa, g.Leases...); err != nil {
			break
		}
		pause(e.ctx, time.Millisecond)
	}
	wg.Wait()
	return errors.Join(ignoreLapse(err), rival)
}

// poll asks for the key every millisecond or so until it is granted or the time is over.
func poll(ctx context.Context, b recorder, s lease.Session, key string, from, to time.Time) error {
	pause(ctx, time.Until(from))
	for time.Now().Before(to) {
		g, err := b.acquire(ctx, s, key)
		if err != nil || len(g.Leases) > 0 {
			return err
		}
		pause(ctx, 500*time.Microsecond)
	}
	return nil
}

func ignoreLapse(err error) error {
	if errors.Is(err, lease.ErrSessionLapsed) {
		return nil
	}
	return err
}

// pause waits for d or until ctx ends; unlike env.sleep it may be used beside the check's goroutine.
func pause(ctx context.Context, d time.Duration) {
	if d <= 0 {
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
