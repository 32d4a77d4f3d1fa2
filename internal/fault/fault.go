// Package fault holds the error values that the three contracts share.
//
// The contract packages never import each other, yet one store implements all of
// them and a caller wants one value to test for. Each contract package re-exports
// these under its own name (lease.ErrUnavailable, registry.ErrUnavailable, ...).
package fault

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The sentinels of the contracts; their meaning is documented where they are re-exported.
var (
	ErrUnavailable   = errors.New("tenure: store unavailable, outcome unknown")
	ErrInvalid       = errors.New("tenure: invalid argument")
	ErrClosed        = errors.New("tenure: store closed")
	ErrReadOnlyStore = errors.New("tenure: store is read-only")
)

// InvalidError says which argument was refused, its value, and how to mend it.
type InvalidError struct {
	// Field names the argument or configuration field, such as "key" or "Timing.LeaseTTL".
	Field string
	// Value is the refused value, shortened where it is long.
	Value string
	// Remedy says what is accepted.
	Remedy string
}

// Error names the field, the value and the remedy in one line.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("tenure: invalid %s %s: %s", e.Field, e.Value, e.Remedy)
}

// Is makes errors.Is(err, ErrInvalid) hold.
func (e *InvalidError) Is(target error) bool { return target == ErrInvalid }

// Invalid makes an InvalidError; long string values are cut for readability.
func Invalid(field string, value any, remedy string) error {
	text := fmt.Sprintf("%v", value)
	if s, ok := value.(string); ok {
		text = quote(s)
	}
	return &InvalidError{Field: field, Value: text, Remedy: remedy}
}

func quote(s string) string {
	const most = 64
	if len(s) > most {
		return fmt.Sprintf("%q... (%d bytes)", strings.ToValidUTF8(s[:most], "?"), len(s))
	}
	return fmt.Sprintf("%q", s)
}

// Limits of names and lifetimes, the same in every store.
const (
	MaxKey = 512
	MinTTL = time.Millisecond
	MaxTTL = 24 * time.Hour
)

// CheckName refuses what is not 1 to 512 bytes of valid UTF-8 without NUL.
func CheckName(field, s string) error {
	switch {
	case s == "":
		return Invalid(field, s, "must not be empty")
	case len(s) > MaxKey:
		return Invalid(field, s, fmt.Sprintf("must be at most %d bytes", MaxKey))
	case !utf8.ValidString(s):
		return Invalid(field, s, "must be valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		return Invalid(field, s, "must not contain a NUL byte")
	}
	return nil
}

// CheckText refuses invalid UTF-8 and NUL, whatever the length.
func CheckText(field, s string) error {
	if !utf8.ValidString(s) || strings.IndexByte(s, 0) >= 0 {
		return Invalid(field, s, "must be valid UTF-8 without NUL")
	}
	return nil
}

// CheckTTL refuses lifetimes outside 1 ms to 24 h.
func CheckTTL(field string, ttl time.Duration) error {
	if ttl < MinTTL || ttl > MaxTTL {
		return Invalid(field, ttl, fmt.Sprintf("must be between %v and %v", MinTTL, MaxTTL))
	}
	return nil
}

// Unavailable wraps a cause so that it reads as an unknown outcome and still unwraps to itself.
func Unavailable(op string, cause error) error {
	if cause == nil {
		return fmt.Errorf("%s: %w", op, ErrUnavailable)
	}
	if errors.Is(cause, ErrUnavailable) {
		return cause
	}
	return fmt.Errorf("%s: %w: %w", op, ErrUnavailable, cause)
}
