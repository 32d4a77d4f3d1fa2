package runner

import (
	"context"
	"fmt"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/internal/reserved"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// Work is what runs while a key is held: one call is one term, on a goroutine of its own.
//
// ctx does not end with Run's context. It ends when the lease is lost (cause: a
// *lease.LostError, which matches lease.ErrLost) and when a drain took too long (cause:
// drain.ErrTimeout); return promptly then, and return ctx.Err() or the cause: neither counts as a
// failure. When term.Draining is closed, finish what is in flight, take nothing new, and return
// nil. A return while neither has happened is the work's own: nil means that it is finished, an
// error or a panic that it failed; see Restart for what follows.
type Work func(ctx context.Context, term *Term) error

// Restart says whether work that ended by itself is started again. Work that ended because its
// lease was lost or because it was wound down did not end by itself: unless it was stopped it runs
// again whenever the key is won, under every policy.
type Restart int

// The restart policies.
const (
	// OnFailure runs the work again after an error or a panic, and is done when it returns nil.
	OnFailure Restart = iota
	// Always runs it again after nil as well.
	Always
	// Never is done after the first return, whatever it was.
	Never
)

// String names the policy.
func (r Restart) String() string {
	switch r {
	case OnFailure:
		return "on failure"
	case Always:
		return "always"
	case Never:
		return "never"
	}
	return fmt.Sprintf("Restart(%d)", int(r))
}

// Spec describes one workload.
type Spec struct {
	// Key is the workload's identity: at most one process in the fleet works under it.
	Key string
	// Name is for people; empty means the key.
	Name string
	// Work runs while the key is held.
	Work Work
	// Drainable, where it is not nil, is told the moment a drain begins, in addition to term.Draining.
	Drainable drain.Drainable
	// Info is free text in the published status, at most 4 KiB: why the workload is here, say.
	Info string
	// Reserved lets this module's own workloads use keys that begin with "tenure:".
	Reserved reserved.Permit
}

// check returns the spec with defaults filled in, or an error that names the field.
func (s Spec) check() (Spec, error) {
	check := lease.CheckUserKey
	if s.Reserved.Granted() {
		check = lease.CheckKey
	}
	if err := check(s.Key); err != nil {
		return s, err
	}
	if s.Name == "" {
		s.Name = s.Key
	}
	if err := fault.CheckName("name", s.Name); err != nil {
		return s, err
	}
	if s.Work == nil {
		return s, fault.Invalid("Spec.Work", "nil", "pass the function that does the work")
	}
	return s, status.Record{Key: s.Key, Name: s.Name, State: status.Active, Info: s.Info}.Check()
}
