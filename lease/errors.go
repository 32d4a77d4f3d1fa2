package lease

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
)

// Errors that stores and the keeper return. Test with errors.Is.
var (
	// ErrUnavailable: the outcome is unknown. Send the call again until the local deadline; a
	// lease is trusted until then and not a moment longer.
	ErrUnavailable = fault.ErrUnavailable
	// ErrInvalid: an argument was refused before anything was done. Mend the argument; the error
	// is an *InvalidError that names it.
	ErrInvalid = fault.ErrInvalid
	// ErrClosed: the store handle was closed. Nothing was done.
	ErrClosed = fault.ErrClosed
	// ErrReadOnlyStore: the store answers but takes no writes (a replica, a standby). Nothing was done.
	ErrReadOnlyStore = fault.ErrReadOnlyStore
	// ErrSessionLapsed: the session is over and so is every lease that hung off it. Stop work at
	// once, and open a new session.
	ErrSessionLapsed = errors.New("tenure: session lapsed")
	// ErrLost: the term is over. Stop work at once and never retry with its token. It is the cause
	// of a worker's cancelled context; the error is a *LostError that says why.
	ErrLost = errors.New("tenure: lease lost")
	// ErrHeldHere: this keeper has a claim on the key already. Use that one.
	ErrHeldHere = errors.New("tenure: key is claimed in this process already")
	// ErrStopped: the keeper is not running any more.
	ErrStopped = errors.New("tenure: keeper stopped")
)

// InvalidError names the refused argument, its value and the remedy. It matches ErrInvalid.
type InvalidError = fault.InvalidError

// LostError says which term was lost and why. It matches ErrLost.
type LostError struct {
	Lease  Lease
	Reason Reason
}

// Error names the key, the token and the reason.
func (e *LostError) Error() string {
	return fmt.Sprintf("tenure: lease lost: %q token %d: %s", e.Lease.Key, e.Lease.Token, e.Reason)
}

// Is makes errors.Is(err, ErrLost) hold.
func (e *LostError) Is(target error) bool { return target == ErrLost }

// MaxKeyLength is the longest key in bytes; ReservedPrefix begins the keys of Tenure itself.
const (
	MaxKeyLength   = fault.MaxKey
	ReservedPrefix = "tenure:"
)

// CheckKey returns an *InvalidError where the key cannot be stored: it must be 1 to 512 bytes of
// valid UTF-8 without NUL. Keys are compared byte for byte; nothing is trimmed, folded or normalised.
func CheckKey(key string) error { return checkName("key", key) }

// CheckUserKey is CheckKey for keys that come from a user: the prefix "tenure:" is reserved.
func CheckUserKey(key string) error {
	if strings.HasPrefix(key, ReservedPrefix) {
		return fault.Invalid("key", key, "the prefix "+ReservedPrefix+" is reserved; choose another name")
	}
	return CheckKey(key)
}

// CheckTTL returns an *InvalidError for a session TTL outside 1 ms to 24 h.
func CheckTTL(ttl time.Duration) error { return fault.CheckTTL("session TTL", ttl) }

// CheckMaxTTL returns an *InvalidError for a session TTL above the fleet's longest. Stores call it in OpenSession.
func CheckMaxTTL(ttl, most time.Duration) error {
	if ttl > most {
		return fault.Invalid("session TTL", ttl, fmt.Sprintf("must be at most the fleet's MaxTTL of %v; raise MaxTTL everywhere first, then the TTL", most))
	}
	return nil
}

// DefaultMaxTTL is the longest session TTL of a fleet unless its store is configured otherwise.
const DefaultMaxTTL = 15 * time.Second

func checkName(field, s string) error { return fault.CheckName(field, s) }
