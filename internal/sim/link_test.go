package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// The contracts, as faults name them.
const (
	onLease    = "lease"
	onRegistry = "registry"
	onStatus   = "status"
	onTargets  = "targets"
)

var (
	errRefused = fmt.Errorf("sim: connection refused: %w", lease.ErrUnavailable)
	errReset   = fmt.Errorf("sim: connection reset: %w", lease.ErrUnavailable)
	errDead    = fmt.Errorf("sim: the process is dead: %w", lease.ErrUnavailable)
)

// window is a fault of a link in force.
type window struct {
	do    deed
	on    string
	began time.Time
	over  chan struct{} // closed when it is lifted
}

// link is the network of one process.
type link struct {
	p *process

	mu      sync.Mutex
	faults  []*window
	streams map[*stream]struct{}
}

// stream is a subscription to hints.
type stream struct{ breaks context.CancelCauseFunc }

func (l *link) add(do deed, on string) *window {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := &window{do, on, time.Now(), make(chan struct{})}
	l.faults = append(l.faults, f)
	if f.hits(onLease) && (do == cut || do == refuse || do == halfDone) {
		for s := range l.streams {
			s.breaks(errReset)
		}
	}
	return f
}

func (l *link) lift(f *window) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, o := range l.faults {
		if o == f {
			l.faults = append(l.faults[:i], l.faults[i+1:]...)
			close(f.over)
			return
		}
	}
}

func (f *window) hits(contract string) bool { return f.on == "" || f.on == contract }

// fault returns the first fault in force that is about the contract.
func (l *link) fault(contract string) *window {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, f := range l.faults {
		if f.hits(contract) {
			return f
		}
	}
	return nil
}

// fate is what the network does to one call.
type fate struct {
	there, back   time.Duration
	lost, unheard bool // the request, the answer
	refused, half bool
	again         time.Duration // the request arrives once more; 0: it does not
	hangs         *window       // the caller hangs until then
}

// fateOf decides. A fault decides before the weather does.
func (l *link) fateOf(op string, d dice, f *window) fate {
	s := l.p.w.s
	far := s.Far && !l.p.w.calm()
	out := fate{there: delay(d.of("there"), far), back: delay(d.of("back"), far)}
	if l.p.w.calm() { // slow now and then, but never beyond a call's time
		out.there, out.back = out.there/4, out.back/4
	}
	if f != nil {
		switch f.do {
		case cut:
			out.lost = true
		case hang:
			out.lost, out.hangs = true, f
		case refuse:
			out.refused = true
		case halfDone:
			out.half = true
		case slow:
			out.back += d.of("slow").between(0, ttl*6/5)
		}
	}
	if l.p.w.calm() {
		return out
	}
	switch x := d.of("loss").float(); {
	case x < s.Loss:
		out.lost = true
	case x < 2*s.Loss:
		out.unheard = true
	}
	out.half = out.half || d.of("half").chance(s.Half)
	if d.of("twice").chance(s.Twice) {
		out.again = d.of("again").between(time.Millisecond, 2*ttl)
	}
	if op == "Acquire" { // no client repeats what grants, unless it was not answered; a lost copy may come late
		out.again = min(out.again, ttl/2)
		if !out.lost && !out.unheard && !out.half {
			out.again = 0
		}
	}
	return out
}

// delay is mostly short, and to the nanosecond, so that hardly two things happen at one instant.
func delay(d dice, far bool) time.Duration {
	if far {
		unit := ttl / 40
		at := []time.Duration{1, 1, 2, 5, 30}[int(d.of("which").float()*5)] * unit
		return d.between(at/2, at)
	}
	if d.of("tail").chance(.02) {
		return d.between(0, ttl/4)
	}
	return d.between(100*time.Microsecond, 5*time.Millisecond)
}

// call sends one call of a client through the network and waits for what comes back.
func call[T any](ctx context.Context, c *client, contract, op string, do func(context.Context) (T, error)) (T, error) {
	var zero T
	l, d := c.p.link, c.next(op)
	if err := c.p.going(d); err != nil {
		return zero, err // a process that stands still sends when it goes on
	}
	f := l.fault(contract)
	fate := l.fateOf(op, d, f)
	c.p.w.count("calls")
	if fate.refused {
		return zero, errRefused
	}
	type answer struct {
		v   T
		err error
	}
	reply := make(chan answer, 1)
	go func() {
		wait(fate.there)
		if f := l.fault(contract); f != nil && (f.do == cut || f.do == hang) {
			c.p.w.count("calls lost")
			return
		}
		if fate.again > 0 {
			c.p.w.count("calls repeated")
			time.AfterFunc(fate.again, func() { _, _ = do(context.WithoutCancel(ctx)) })
		}
		if fate.lost {
			c.p.w.count("calls lost")
			return
		}
		v, err := do(context.WithoutCancel(ctx))
		if fate.half {
			v, err = zero, errReset
		}
		wait(fate.back)
		if f := l.fault(contract); fate.unheard || errors.Is(err, errTrapped) || f != nil && (f.do == cut || f.do == hang) {
			c.p.w.count("answers lost")
			return
		}
		reply <- answer{v, err}
	}()
	var a answer
	select {
	case a = <-reply:
	case <-c.p.dead:
		return zero, errDead
	case <-ctx.Done():
		if fate.hangs != nil {
			select {
			case <-fate.hangs.over:
			case <-c.p.dead:
			}
		}
	}
	if err := c.p.going(d.of("heard")); err != nil {
		return zero, err
	}
	if err := ctx.Err(); err != nil { // also where the answer came while the process stood still
		return zero, fmt.Errorf("sim: %s: %w: %w", op, lease.ErrUnavailable, err)
	}
	return a.v, a.err
}

// wait lets virtual time pass.
func wait(d time.Duration) {
	if d > 0 {
		<-time.After(d)
	}
}

// watch is a subscription through the network: hints may be lost, doubled and late.
func (l *link) watch(ctx context.Context, c *client, f func(lease.Change), from func(context.Context, func(lease.Change)) error) error {
	d := c.next("Watch")
	if err := l.p.going(d); err != nil {
		return err
	}
	wait(delay(d, false))
	if l.fault(onLease) != nil {
		return errRefused
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	s := &stream{cancel}
	l.mu.Lock()
	l.streams[s] = struct{}{}
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.streams, s)
	}()
	n := 0
	return from(ctx, func(ch lease.Change) {
		n++
		d := d.nth(n)
		select {
		case <-time.After(delay(d.of("hint"), false)):
		case <-ctx.Done():
			return
		}
		if l.p.going(d) != nil || ctx.Err() != nil || d.of("lost").chance(4*l.p.w.s.Loss) {
			return
		}
		f(ch)
		if d.of("twice").chance(4 * l.p.w.s.Twice) {
			f(ch)
		}
	})
}
