package lease

import (
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/instance"
)

// RenewObserver hears of every answer to a renewal or opening of a session. Observers are called
// in order, from a goroutine of the keeper's Run that no deadline depends on: a slow one delays nobody,
// and loses its oldest events when thousands wait.
type RenewObserver interface{ ObserveRenew(RenewEvent) }

// RenewEvent is one attempt to renew.
type RenewEvent struct {
	Owner instance.ID
	// Session is the ID of the session.
	Session string
	// Opening is set for the opening of a session, which had nothing left that could run out.
	Opening bool
	// At is when the answer came.
	At time.Time
	// Err is nil for success; otherwise it matches one of this package's errors.
	Err error
	// Took is the duration of the call.
	Took time.Duration
	// Left is what the session had left when the answer came: the margin that a late answer eats.
	Left time.Duration
	// Of is the most that can be left: LeaseTTL - Margin.
	Of time.Duration
	// Until is when the session ends here without another renewal, as this answer left it; zero where
	// it is over, or not open yet.
	Until time.Time
	// Held is the number of terms that the renewal keeps alive.
	Held        int
	Incarnation uint64
}

// TermObserver hears of the beginning and the end of each term.
type TermObserver interface{ ObserveTerm(TermEvent) }

// TermEvent is one step of a term.
type TermEvent struct {
	Kind  TermKind
	Lease Lease
	// At is when it happened.
	At time.Time
	// Reason is set for TermLost.
	Reason Reason
	// Before is set for TermGranted, and tells what is known of the term before.
	Before Before
}

// Before is what a process saw of the end of somebody else's term while it contended for the key, or what the store
// told of it with the grant.
type Before struct {
	// Owner was last seen to hold the key; empty where nobody was.
	Owner instance.ID
	// Lapsed: the owner's session ran out. False where the key was let go of, or nobody was seen to hold
	// it. Where a store gives no hints, a release that is only found when the session would have run
	// out counts as a lapse.
	Lapsed bool
	// Free is for how long nobody was known to hold the key: while it was contended for here, or, where the store tells
	// of a lapse before that, since the lapse.
	Free time.Duration
}

// TermKind says what happened to a term.
type TermKind string

// The steps of a term. Each granted term is lost at most once and released at most once.
const (
	TermGranted  TermKind = "granted"
	TermLost     TermKind = "lost"
	TermReleased TermKind = "released"
)

// CallObserver hears of every store call that the keeper made.
type CallObserver interface{ ObserveCall(CallEvent) }

// CallEvent is one store call.
type CallEvent struct {
	// Op is the name of the Manager's method.
	Op string
	// Err is nil for success.
	Err  error
	Took time.Duration
}

type observers struct {
	renew []RenewObserver
	term  []TermObserver
	call  []CallObserver
}

func splitObservers(all []any) observers {
	var o observers
	for _, x := range all {
		if v, ok := x.(RenewObserver); ok {
			o.renew = append(o.renew, v)
		}
		if v, ok := x.(TermObserver); ok {
			o.term = append(o.term, v)
		}
		if v, ok := x.(CallObserver); ok {
			o.call = append(o.call, v)
		}
	}
	return o
}

func (k *Keeper) emitRenew(e RenewEvent) {
	for _, o := range k.observe.renew { // each on its own: the panic of one is not the next one's
		e := e // what is captured lives on the heap: only where somebody listens
		k.events.Post(func() { o.ObserveRenew(e) })
	}
}

func (k *Keeper) emitTerm(e TermEvent) {
	for _, o := range k.observe.term { // each on its own: the panic of one is not the next one's
		e := e // as above
		k.events.Post(func() { o.ObserveTerm(e) })
	}
}

func (k *Keeper) emitCall(e CallEvent) {
	for _, o := range k.observe.call { // each on its own: the panic of one is not the next one's
		e := e // as above
		k.events.Post(func() { o.ObserveCall(e) })
	}
}

// logs posts a log line; handlers are the user's and may block.
func (k *Keeper) logs(f func(*slog.Logger)) {
	if k.log != nil {
		k.events.Post(func() { f(k.log) })
	}
}
