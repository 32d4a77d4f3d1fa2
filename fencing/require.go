package fencing

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/fault"
)

// Config holds what is optional. The zero value is the documented defaults.
type Config struct {
	// Key returns the key of the workload that may write what the request is about, such as a part of its path.
	// A token of another key is refused: it says nothing about this resource. Nil: the token's key is the resource.
	Key func(r *http.Request) string
	// Timeout bounds the wait for the store, and for requests of a former owner that are still at work: 1 ms to 24 h,
	// default 10 s.
	Timeout time.Duration
}

// Require returns a handler that lets only those requests through to next whose token is not older than any that the
// store has seen for its key. See the package documentation for what it answers to others, and for how requests
// with different tokens are ordered. Errors match ErrInvalid.
func Require(next http.Handler, store Store, cfg Config) (http.Handler, error) {
	if next == nil {
		return nil, fault.Invalid("next handler", "nil", "pass the handler to guard")
	}
	if store == nil {
		return nil, fault.Invalid("fencing store", "nil", "pass a Store; new(fencing.Memory) keeps tokens in memory")
	}
	if cfg.Timeout == 0 {
		cfg.Timeout = 10 * time.Second
	}
	if cfg.Timeout < fault.MinTTL || cfg.Timeout > fault.MaxTTL {
		return nil, fault.Invalid("fencing.Config.Timeout", cfg.Timeout, fmt.Sprintf("must be between %v and %v; zero means 10s", fault.MinTTL, fault.MaxTTL))
	}
	return &guard{next: next, store: store, cfg: cfg}, nil
}

type guard struct {
	next  http.Handler
	store Store
	cfg   Config
	gates gates
	calls call.Gate
}

// ServeHTTP implements http.Handler.
func (g *guard) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	t, found, err := Read(r.Header)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	case !found:
		http.Error(w, "send the header "+Header+": TOKEN;key=KEY", http.StatusPreconditionRequired)
		return
	case g.cfg.Key != nil:
		if want := g.cfg.Key(r); want != t.Key {
			http.Error(w, fmt.Sprintf("%s is of the key %q; this resource belongs to %q", Header, t.Key, want), http.StatusBadRequest)
			return
		}
	}
	ctx, cancel := context.WithCancelCause(context.WithValue(r.Context(), contextKey{}, t))
	defer cancel(nil)
	v := &visit{token: t, cancel: cancel}
	defer g.gates.leave(v)
	if err := g.admit(ctx, v); err != nil {
		if !Refuse(w, err) {
			w.Header().Set("Retry-After", "1")
			http.Error(w, err.Error(), http.StatusServiceUnavailable)
		}
		return
	}
	g.next.ServeHTTP(w, r.WithContext(ctx))
}

// admit returns nil where the request may go on: nobody with an older token is inside, and the store has seen no newer one.
func (g *guard) admit(ctx context.Context, v *visit) error {
	wait, cancel := context.WithTimeout(ctx, g.cfg.Timeout)
	defer cancel()
	if err := g.gates.enter(wait, v); err != nil {
		return err
	}
	highest, err := call.Do(wait, &g.calls, "fencing: advance", g.cfg.Timeout, func(ctx context.Context) (uint64, error) {
		return g.store.Advance(ctx, v.token.Key, v.token.Value)
	})
	switch {
	case errors.Is(context.Cause(ctx), ErrStale): // overtaken before anything was done
		stale, _ := errors.AsType[*StaleError](context.Cause(ctx))
		return &StaleError{Token: v.token, Highest: stale.Highest}
	case err != nil:
		return fault.Unavailable("fencing", err)
	case highest > v.token.Value:
		g.gates.outdate(v, highest)
		return &StaleError{Token: v.token, Highest: highest}
	case highest < v.token.Value:
		return fault.Unavailable("fencing", fmt.Errorf("the store answered %d to token %d, as none may", highest, v.token.Value))
	}
	return nil
}
