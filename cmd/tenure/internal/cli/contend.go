package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-go/tenure/cmd/tenure/internal/guard"
	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
	"github.com/tenure-go/tenure/lease"
)

// contender is the store as the runner sees it: it also tells the leader whether the key can be had.
type contender struct {
	stores.Handle
	leader *leader
}

// OpenSession implements lease.Manager.
func (c contender) OpenSession(ctx context.Context, s lease.Session) (lease.Incarnation, error) {
	in, err := c.Handle.OpenSession(ctx, s)
	c.leader.answered(err)
	return in, err
}

// Acquire implements lease.Manager.
func (c contender) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	g, err := c.Handle.Acquire(ctx, s, keys)
	c.leader.answered(err)
	if err == nil && len(g.Refused) > 0 {
		c.leader.refused(g.Refused[0], g.Incarnation)
	}
	return g, err
}

// answered looks at whether the store answers at all. A login that is refused from the start is bad input. One that was
// accepted before is waited for: somebody is changing a password, and no trouble of the store ends what runs well.
func (l *leader) answered(err error) {
	if err == nil {
		l.reached.Store(true)
		return
	}
	status, text := classify(err)
	_, refused := stores.Refused(err)
	switch {
	case l.o.noWait && status == exitStore:
		l.end(fail(exitUnavailable, "%s", text))
	case status == exitUsage && (l.o.noWait || !refused || !l.reached.Load()):
		l.end(fail(exitUsage, "%s", text)) // or the server's settings, or a TTL that the fleet does not allow
	default:
		l.events.waiting("", text)
	}
}

// refused notes who has the key.
func (l *leader) refused(r lease.Refusal, in lease.Incarnation) {
	text := fmt.Sprintf("%q is held by %s", l.o.key, r.Owner)
	switch {
	case in.FrozenFor > 0:
		text = fmt.Sprintf("grants are frozen for %v more, since the fleet is new or the store has lost data; wait for that long (\"tenure provision\" spares a new fleet that, and has to come before its first use)", in.FrozenFor.Round(100*time.Millisecond))
	case r.Owner == "":
		text = fmt.Sprintf("%q is about to change hands", l.o.key)
	}
	if l.o.noWait {
		l.end(fail(exitHeld, "%s, and --no-wait was given", text))
		return
	}
	l.events.waiting(string(r.Owner), text)
}

// event is what run tells of itself with --json.
type event struct {
	At    time.Time `json:"at"`
	Event string    `json:"event"`
	Key   string    `json:"key"`
	Token uint64    `json:"token,omitempty"`
	Owner string    `json:"owner,omitempty"`
	// Reason says why a lease was lost.
	Reason string `json:"reason,omitempty"`
	// Status is how the command ended.
	Status *int `json:"status,omitempty"`
	// Killed: the command, or what it left behind, had to be killed.
	Killed bool   `json:"killed,omitempty"`
	Error  string `json:"error,omitempty"`
}

// events tells on standard error what happens: standard output is the command's.
type events struct {
	app   *app
	key   string
	quiet bool

	mu   sync.Mutex
	last string // what was last said while waiting, so that it is said once
}

func (e *events) say(v event, format string, args ...any) {
	if e.quiet {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.app.json {
		v.At, v.Key = time.Now(), e.key
		a := app{Streams: Streams{Out: e.app.Err}}
		_ = a.emit(v) // nobody may be listening
		return
	}
	fmt.Fprintf(e.app.Err, "tenure: %s\n", printable(fmt.Sprintf(format, args...), 0))
}

func (e *events) forget() {
	e.mu.Lock()
	e.last = ""
	e.mu.Unlock()
}

func (e *events) waiting(owner, text string) {
	e.mu.Lock()
	said := e.last == owner+text || owner != "" && e.last == owner
	e.last = owner
	if owner == "" {
		e.last = text
	}
	e.mu.Unlock()
	if !said {
		e.say(event{Event: "waiting", Owner: owner, Error: text}, "waiting: %s", text)
	}
}

func (e *events) leading(token uint64) {
	e.forget()
	e.say(event{Event: "leading", Token: token}, "leading %q, token %d", e.key, token)
}

func (e *events) draining(timeout time.Duration) {
	e.say(event{Event: "draining"}, "draining: the command has %v to stop", timeout)
}

func (e *events) lost(reason string, r guard.Result) {
	how := "was stopped"
	switch {
	case r.Killed:
		how = "was killed"
	case errors.Is(r.Err, guard.ErrTooLate):
		how = "was not started"
	}
	e.say(event{Event: "lost", Reason: reason, Killed: r.Killed}, "the lease of %q was lost (%s); the command %s", e.key, reason, how)
}

func (e *events) ended(r guard.Result) {
	text := fmt.Sprintf("the command ended with status %d", r.Status)
	if r.Killed {
		text += "; what was left of it was killed"
	}
	e.say(event{Event: "ended", Status: &r.Status, Killed: r.Killed}, "%s", text)
}
