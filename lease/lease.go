package lease

import (
	"crypto/rand"
	"encoding/hex"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/instance"
)

// Session is an instance's promise, in the lease store, to be alive. It lapses one TTL
// after its last renewal, by the store's clock, and a lapsed session never comes back.
type Session struct {
	// ID is 128 random bits in hexadecimal, made by the client; see NewSession.
	ID string
	// Owner is the instance that the session belongs to.
	Owner instance.ID
	// TTL is the session's life after each renewal: 1 ms to 24 h, at most the fleet's MaxTTL.
	// Stores round it up to their unit, never down.
	TTL time.Duration
}

// NewSession returns a session with a fresh random ID.
func NewSession(owner instance.ID, ttl time.Duration) Session {
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return Session{ID: hex.EncodeToString(b[:]), Owner: owner, TTL: ttl}
}

// Check returns an *InvalidError where the session cannot be used.
func (s Session) Check() error {
	if err := checkName("session ID", s.ID); err != nil {
		return err
	}
	if err := s.Owner.Check(); err != nil {
		return err
	}
	return CheckTTL(s.TTL)
}

// Lease is exclusive ownership of one key by one session. It is a small value to copy.
type Lease struct {
	// Key is the workload's identity.
	Key string
	// Owner is the instance that holds the key.
	Owner instance.ID
	// Session is the ID of the session that the lease hangs off.
	Session string
	// Token is the fencing token: per key it only ever grows. A renewal never changes it.
	Token uint64
	// GrantedAt is the store's time of the grant, for people: no decision depends on it.
	GrantedAt time.Time
}

// LogValue makes a lease readable in structured logs.
func (l Lease) LogValue() slog.Value {
	return slog.GroupValue(slog.String("key", l.Key), slog.Uint64("token", l.Token), slog.String("owner", string(l.Owner)))
}

// Incarnation tells which life of the store an answer comes from. A store that lost writes
// (wiped, restored from a snapshot, a lagging replica promoted) begins a new one with a
// higher number and freezes grants for the fleet's MaxTTL, so that living holders can
// re-assert what they hold. Stores that cannot lose writes answer the same number for ever.
type Incarnation struct {
	// Number only grows. An answer with a lower number than one already seen proves nothing.
	Number uint64
	// FrozenFor is how long from now nothing new is granted; 0 when the store is not frozen.
	FrozenFor time.Duration
}

// Refusal says why a key was not granted.
type Refusal struct {
	Key string
	// Owner holds the key now; empty while the store is frozen or only a row lock was in the way.
	Owner instance.ID
	// Busy means that the key may be free: its record was only locked, or the store is frozen.
	Busy bool
	// RetryAfter is when another try makes sense: what the owner's session has left, what the
	// freeze has left, or at least 100 ms for a locked record. It is above 0.
	RetryAfter time.Duration
}

// Grant is the answer to Acquire: each requested key is in exactly one of the two lists.
type Grant struct {
	Leases      []Lease
	Refused     []Refusal
	Incarnation Incarnation
	// Lapses tell of granted keys whose last term ended because its session ran out, and was neither released nor
	// revoked: at most one for a key, in any order. For observers; a store that does not know leaves it nil.
	Lapses []Lapse
}

// Lapse is the end of a term whose session ran out.
type Lapse struct {
	Key string
	// Owner had the key.
	Owner instance.ID
	// Ago is how long the session has been over by the store's clock, at least 0; 0 where that is not known.
	Ago time.Duration
}

// Renewal is the answer to Renew.
type Renewal struct {
	Incarnation Incarnation
	// Revision rises whenever a lease of this session was revoked; a change means: verify all.
	Revision uint64
	// Lost are leases that the session does not hold any more. Only stores without sessions
	// (PerKey) fill it; others keep Renew independent of the number of leases.
	Lost []Loss
	// Unknown are leases whose renewal got no answer; they keep their earlier deadline. PerKey only.
	Unknown []Lease
}

// Verification is the answer to Verify: every lease asked about that is not in Lost is held.
type Verification struct {
	Lost        []Loss
	Incarnation Incarnation
}

// Loss is a lease that its session does not hold any more, and why.
type Loss struct {
	Lease  Lease
	Reason Reason
}

// Reason says why a term ended other than by its holder's wish.
type Reason string

// The reasons of a loss.
const (
	// ReasonTaken: another session holds the key, with a higher token.
	ReasonTaken Reason = "taken"
	// ReasonExpired: the store says that the session has lapsed.
	ReasonExpired Reason = "expired"
	// ReasonUnreachable: the local deadline passed without an answer from the store.
	ReasonUnreachable Reason = "unreachable"
	// ReasonRevoked: an operator revoked the lease.
	ReasonRevoked Reason = "revoked"
	// ReasonForgotten: the store has no record of the lease that counts.
	ReasonForgotten Reason = "forgotten"
	// ReasonStopped: the keeper ended while the lease was still held.
	ReasonStopped Reason = "stopped"
)
