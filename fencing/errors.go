package fencing

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/tenure-go/tenure/internal/fault"
)

// Errors. Test with errors.Is.
var (
	// ErrStale: the token is older than one that the resource has seen. Its term is over: stop, and never send it
	// again. It is the cause of a handler's context that was overtaken. The error is a *StaleError.
	ErrStale = errors.New("tenure: fencing token is stale")
	// ErrUnavailable: the store of tokens did not answer, and the request was not let in. Send it again.
	ErrUnavailable = fault.ErrUnavailable
	// ErrInvalid: an argument or a header cannot be used.
	ErrInvalid = fault.ErrInvalid
)

// StaleError says which token was refused. It matches ErrStale.
type StaleError struct {
	// Token is the one that was refused.
	Token Token
	// Highest is the highest token seen for its key.
	Highest uint64
	// Overtaken: the request was let in, and a newer token came while it was handled.
	Overtaken bool
}

// Error names the key and both tokens.
func (e *StaleError) Error() string {
	what := "refused"
	if e.Overtaken {
		what = "overtaken"
	}
	return fmt.Sprintf("%v: %q token %d %s, %d was seen", ErrStale, e.Token.Key, e.Token.Value, what, e.Highest)
}

// Is makes errors.Is(err, ErrStale) hold.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// Refuse answers a request that fencing has ended, and reports whether err was such an error: 412 for a *StaleError,
// or 409 where it says Overtaken, with the highest token in the header. Anything else it leaves to the caller.
// A handler calls it where its own write was refused, or with context.Cause(r.Context()) where that has ended.
func Refuse(w http.ResponseWriter, err error) bool {
	stale, ok := errors.AsType[*StaleError](err)
	if !ok {
		return false
	}
	code := http.StatusPreconditionFailed
	if stale.Overtaken {
		code = http.StatusConflict
	}
	if stale.Highest > 0 && stale.Token.Key != "" {
		w.Header().Set(Header, Token{Key: stale.Token.Key, Value: stale.Highest}.String())
	}
	http.Error(w, stale.Error(), code)
	return true
}

type contextKey struct{}

// FromContext returns the token of the request that a handler behind Require handles.
func FromContext(ctx context.Context) (Token, bool) {
	t, ok := ctx.Value(contextKey{}).(Token)
	return t, ok
}
