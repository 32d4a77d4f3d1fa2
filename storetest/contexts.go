package storetest

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func contexts() []check {
	return []check{
		{id: "C01", name: "an_ended_context_does_nothing", run: c01,
			sentence: "If the context had ended before the call, nothing happens, and the error matches ErrUnavailable and the context's."},
		{id: "C02", name: "a_deadline_ends_a_hanging_call", run: c02, needs: []Capability{CanFreeze},
			sentence: "A call returns promptly once its context's deadline has passed, whatever the store is doing, with ErrUnavailable and DeadlineExceeded."},
		{id: "C03", name: "cancelling_ends_a_hanging_call", run: c03, needs: []Capability{CanFreeze},
			sentence: "A call returns promptly once its context is cancelled, whatever the store is doing, with ErrUnavailable and Canceled."},
		{id: "C04", name: "a_lost_reply_neither_loses_nor_doubles", run: c04, needs: []Capability{CanDropReply},
			sentence: "Every method is safe to send twice: where the reply was lost, a second call has exactly one effect in all."},
		{id: "C05", name: "calls_cut_short_leave_a_sound_store", run: c05, slow: true, needs: []Capability{Sessions},
			sentence: "A call that ends with its context may have happened or not, and nothing in between."},
		{id: "C06", name: "a_later_cancel_takes_nothing_back", run: c06,
			sentence: "The context of a call that has returned has no hold on what the call did."},
		{id: "C07", name: "every_method_may_be_sent_twice", run: c07,
			sentence: "Every call may be repeated at once, also where the first one succeeded."},
	}
}

// unavailable fails the check unless err is an unknown outcome that still tells why.
func (e *env) unavailable(err, cause error, call string) {
	e.Helper()
	e.that(errors.Is(err, lease.ErrUnavailable), "%s answered %v, want ErrUnavailable", call, err)
	e.that(errors.Is(err, cause), "%s answered %v, which does not match %v", call, err, cause)
}

func c01(e *env) {
	cancelled, cancel := context.WithCancel(e.ctx)
	cancel()
	explained, explain := context.WithCancelCause(e.ctx)
	explain(errors.New("a cause of the caller's own"))
	late, stop := context.WithDeadline(e.ctx, time.Now().Add(-time.Second))
	defer stop()
	for _, p := range e.probes() {
		e.unavailable(p.do(cancelled, e.a), context.Canceled, p.name+" with a cancelled context")
		e.unavailable(p.do(explained, e.a), context.Canceled, p.name+" with a context that was cancelled for a cause")
		e.unavailable(p.do(late, e.a), context.DeadlineExceeded, p.name+" with a deadline in the past")
		if p.undone != nil {
			p.undone()
		}
	}
}

func c02(e *env) {
	e.hang(context.DeadlineExceeded, func() (context.Context, context.CancelFunc) { return e.within(e.unit / 2) })
}

func c03(e *env) {
	e.hang(context.Canceled, func() (context.Context, context.CancelFunc) {
		ctx, cancel := context.WithCancel(e.ctx)
		timer := time.AfterFunc(e.unit/2, cancel)
		return ctx, func() { timer.Stop(); cancel() }
	})
}

// hang tries every method on a store that does not answer. They run beside each other, as they would
// in a process whose store hangs.
func (e *env) hang(cause error, bounded func() (context.Context, context.CancelFunc)) {
	e.Helper()
	probes := e.probes()
	type answer struct {
		err  error
		took time.Duration
	}
	answers := make([]answer, len(probes))
	thaw := e.cfg.Faults.Freeze(e.t, e.a)
	var wg sync.WaitGroup
	for i, p := range probes {
		wg.Go(func() {
			ctx, cancel := bounded()
			defer cancel()
			begun := time.Now()
			err := p.do(ctx, e.a)
			answers[i] = answer{err, time.Since(begun)}
		})
	}
	wg.Wait()
	thaw()
	for i, p := range probes {
		e.unavailable(answers[i].err, cause, p.name+" on a store that hangs")
		e.that(answers[i].took < e.unit/2+10*e.unit, "%s returned %v after its context ended", p.name, answers[i].took-e.unit/2)
	}
	e.eventually(25*e.unit, func() bool { return e.answers(e.a) }, "after the store answers again, calls still fail")
}

// answers reports whether the store answers a call within a few units.
func (e *env) answers(s Store) bool {
	ctx, cancel := e.within(5 * e.unit)
	defer cancel()
	_, err := s.OpenSession(ctx, lease.NewSession(e.owner(), e.long()))
	return err == nil
}

func c04(e *env) {
	for _, p := range e.probes() {
		e.cfg.Faults.DropReply(e.t, e.a)
		// A client that repeats the call by itself may answer nil: that is as good.
		if err := p.do(e.ctx, e.a); err != nil && !errors.Is(err, lease.ErrUnavailable) {
			e.excuseAny(err)
			e.Fatalf("%s, whose reply was lost, answered %v, want ErrUnavailable", p.name, err)
		}
		err := p.do(e.ctx, e.a)
		e.excuseAny(err)
		e.must(err, "%s, sent again after its reply was lost", p.name)
		if p.done != nil {
			p.done()
		}
	}
}

// c05 cuts calls short at random moments and lets the history tell whether anything broke.
func c05(e *env) {
	h := newHistory()
	seed := e.rnd.Uint64()
	if d := e.cfg.Faults.Delay; d != nil {
		e.each(func(s Store) { d(e.t, s, time.Millisecond) })
		defer e.each(func(s Store) { d(e.t, s, 0) })
	}
	end := time.Now().Add(8 * e.unit)
	keys := e.keys(6)
	workers := make([]*worker, 8)
	var wg sync.WaitGroup
	for i := range workers {
		w := e.worker(h, i, seed, 3*e.unit)
		w.mortal, w.shaky = true, true
		workers[i] = w
		r := rand.New(rand.NewPCG(seed, uint64(i)<<32))
		wg.Go(func() {
			for time.Now().Before(end) && w.broken == nil {
				ctx, cancel := e.within(time.Duration(r.Int64N(int64(3 * time.Millisecond))))
				w.step(ctx, keys)
				cancel()
				pause(e.ctx, time.Duration(r.Int64N(int64(2*time.Millisecond))))
			}
		})
	}
	wg.Wait()
	for _, w := range workers {
		e.must(w.broken, "a call that was cut short")
	}
	e.judge(h)
}

func c06(e *env) {
	for _, p := range e.probes() {
		ctx, cancel := context.WithCancel(e.ctx)
		err := p.do(ctx, e.a)
		cancel()
		e.must(err, "%s", p.name)
		e.sleep(e.unit / 40)
		if p.done != nil {
			p.done()
		}
	}
}

func c07(e *env) {
	for _, p := range e.probes() {
		e.must(p.do(e.ctx, e.a), "%s", p.name)
		e.must(p.do(e.ctx, e.b), "%s, repeated through another handle", p.name)
		e.must(p.do(e.ctx, e.a), "%s, repeated", p.name)
		if p.done != nil {
			p.done()
		}
	}
}
