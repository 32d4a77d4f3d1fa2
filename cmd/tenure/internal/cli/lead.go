package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/tenure-go/tenure/cmd/tenure/internal/guard"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// leader is one "tenure run": it contends for the key, and each term runs the command under a guardian.
type leader struct {
	app      *app
	o        runOptions
	events   *events
	stop     context.CancelFunc // begins the end
	stopping <-chan struct{}    // closed when it has begun
	renewed  chan struct{}      // the lease may have been extended
	forward  chan int           // signals for the command
	kill     chan struct{}      // closed when there is no patience any more
	reached  atomic.Bool        // the store has answered once

	mu     sync.Mutex
	status int   // of the last command that ended by itself or was drained
	fatal  error // ends the program with a status of its own
}

// runInfo is what the status of a key begins with that is held by "tenure run".
const runInfo = "tenure run: "

// errNear ends a term whose command was asked to stop since the deadline was near, though a renewal came after all.
var errNear = errors.New("the lease was about to end")

// exitError is a command that failed.
type exitError struct{ status int }

// Error names the status.
func (e *exitError) Error() string { return fmt.Sprintf("the command ended with status %d", e.status) }

// lead runs the command whenever the key is held, and returns when that is over.
func (a *app) lead(cmd *cobra.Command, o runOptions) error {
	store, err := a.open(cmd)
	if err != nil {
		return err
	}
	defer store.Close()
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	l := &leader{
		app: a, o: o, stop: stop, stopping: ctx.Done(), events: &events{app: a, key: o.key, quiet: o.quiet},
		renewed: make(chan struct{}, 1), forward: make(chan int, 16), kill: make(chan struct{}),
	}
	defer l.relay()()
	spec := runner.Spec{Key: o.key, Name: o.name, Work: l.work, Info: runInfo + printable(strings.Join(o.argv, " "), 200)}
	r, err := runner.New(contender{Handle: store, leader: l}, instance.Process(), spec, runner.Config{
		Timing: o.timing, Restart: o.policy, Status: store, Observers: []any{l},
	})
	if err != nil {
		return err
	}
	for {
		err := r.Run(ctx)
		if errors.Is(err, errNear) && ctx.Err() == nil {
			continue
		}
		if stuck, ok := errors.AsType[*runner.StuckError](err); ok {
			return fail(exitInternal, "%v; its lease is left to lapse", stuck)
		}
		break
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fatal != nil {
		return l.fatal
	}
	if l.status != 0 {
		return quietly(l.status)
	}
	return nil
}

// end ends the program with a status, from within a term or while the key is waited for.
func (l *leader) end(err error) {
	l.mu.Lock()
	if l.fatal == nil {
		l.fatal = err
	}
	l.mu.Unlock()
	l.stop()
}

func (l *leader) setStatus(status int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.status = status
}

// ObserveRenew implements lease.RenewObserver.
func (l *leader) ObserveRenew(lease.RenewEvent) {
	select {
	case l.renewed <- struct{}{}:
	default:
	}
}

// until is when the term ends on the clock that the guardian reads; 0 where it has ended. The clock is read first, so that
// whatever time passes in between makes the instant earlier.
func until(term *runner.Term) guard.Instant {
	now := guard.Now()
	left := term.Left()
	if left <= 0 {
		return 0
	}
	return now.Add(left)
}

// environment is the command's.
func (l *leader) environment(term *runner.Term) []string {
	set := map[string]string{
		"TENURE_KEY": term.Key(), "TENURE_TOKEN": number(term.Token()), "TENURE_INSTANCE": string(instance.Process()), "TENURE_FLEET": l.app.cfg.Fleet,
	}
	var env []string
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); set[name] == "" {
			env = append(env, v)
		}
	}
	for name, value := range set {
		env = append(env, name+"="+value)
	}
	return env
}

// work is one term.
func (l *leader) work(ctx context.Context, term *runner.Term) error {
	l.setStatus(0)
	for len(l.forward) > 0 {
		<-l.forward // it was meant for no command
	}
	deadline := until(term)
	if deadline == 0 {
		return context.Cause(ctx)
	}
	g, err := guard.Start(guard.Config{
		Path: l.o.path, Argv: l.o.argv, Env: l.environment(term), Stop: l.o.signal, Grace: l.o.grace, Deadline: deadline,
	})
	if err != nil {
		l.end(fail(exitInternal, "the command cannot be guarded: %v", err))
		return err
	}
	l.events.leading(term.Token())
	m := &minder{leader: l, term: term, guard: g, told: deadline}
	m.mind(ctx)
	return l.ended(ctx, g.Result())
}

// ended says what a term came to.
func (l *leader) ended(ctx context.Context, r guard.Result) error {
	lost, isLost := errors.AsType[*lease.LostError](context.Cause(ctx))
	switch {
	case isLost:
		l.events.lost(string(lost.Reason), r)
		if l.o.once {
			l.end(fail(exitHeld, "the lease of %q was lost (%s), and --once was given", l.o.key, lost.Reason))
		}
		l.waits()
		return lost
	case r.Asked == guard.CauseDeadline && r.Err == nil, errors.Is(r.Err, guard.ErrTooLate):
		l.events.lost("not renewed in time", r)
		if l.o.once {
			l.end(fail(exitHeld, "the lease of %q was about to end, and --once was given", l.o.key))
		}
		l.waits()
		return errNear
	case errors.Is(r.Err, guard.ErrGuardianDied):
		l.events.say(event{Event: "killed", Error: r.Err.Error()}, "%v", r.Err)
		l.setStatus(exitInternal)
		return r.Err
	case r.Err != nil:
		l.end(unstarted(r.Err))
		return r.Err
	}
	l.setStatus(r.Status)
	l.events.ended(r)
	if r.Status != 0 {
		return &exitError{r.Status}
	}
	return nil
}

// unstarted is the end of the program where the command could not be started.
func unstarted(err error) error {
	status, remedy := exitInternal, "see what the machine lacks"
	if refused, ok := errors.AsType[*guard.StartError](err); ok {
		status = startStatus(refused.Errno)
	}
	if status != exitInternal {
		remedy = "give a program that this system can execute, or a script whose first line names its interpreter, as #!/bin/sh does"
	}
	return fail(status, "the command cannot be started: %v; %s", err, remedy)
}

// waits says that the key is waited for again. Whether it is free shows later: after a revocation others have the first turn.
func (l *leader) waits() {
	select {
	case <-l.stopping:
	default:
		l.events.waiting("", fmt.Sprintf("the lease of %q is asked for again", l.o.key))
	}
}

// minder keeps one guardian informed.
type minder struct {
	leader *leader
	term   *runner.Term
	guard  *guard.Guard
	told   guard.Instant
	abort  <-chan time.Time // when a guardian that does not act is killed
}

// impatience is how long a guardian may take for an order that no deadline bounds.
const impatience = 5 * time.Second

// mind returns when nothing of the command is left.
func (m *minder) mind(ctx context.Context) {
	l, t := m.leader, m.leader.o.timing
	tick := time.NewTicker(max(t.RenewInterval/4, time.Millisecond))
	defer tick.Stop()
	draining, lost, kill := m.term.Draining(), ctx.Done(), l.kill
	for {
		select {
		case <-m.guard.Done():
			return
		case <-l.renewed:
			m.extend()
		case <-tick.C:
			m.extend()
		case sig := <-l.forward:
			m.guard.Signal(sig)
		case <-draining:
			draining = nil
			l.events.draining(l.o.drainTimeout)
			m.guard.Stop(l.o.signal, guard.Now().Add(l.o.drainTimeout))
		case why := <-m.guard.Asked():
			if why == guard.CauseDeadline {
				// Should a renewal come after all, the command has as long as for any other stop.
				m.guard.Stop(l.o.signal, guard.Now().Add(l.o.drainTimeout))
			}
		case <-kill:
			kill = nil
			m.guard.Kill()
			m.abort = time.After(impatience)
		case <-lost:
			lost = nil
			m.lost(ctx)
		case <-m.abort:
			m.guard.Abort()
			m.abort = time.After(impatience)
		}
	}
}

func (m *minder) extend() {
	if at := until(m.term); at > m.told {
		m.told = at
		m.guard.Extend(at)
	}
}

// lost ends the command because its context has ended: the lease is gone, or the drain took too long.
func (m *minder) lost(ctx context.Context) {
	why, isLost := errors.AsType[*lease.LostError](context.Cause(ctx))
	if isLost && why.Reason == lease.ReasonRevoked {
		// Nobody is granted the key before it is let go here, or before the session ends as it stood at the revocation:
		// after the deadline that was told.
		m.guard.Stop(m.leader.o.signal, m.told)
		m.abort = time.After(max(m.told.Sub(guard.Now()), 0) + m.leader.o.timing.Margin/4)
		return
	}
	m.guard.Kill()
	m.abort = time.After(impatience)
	if isLost {
		m.abort = time.After(m.leader.o.timing.Margin / 4)
	}
}
