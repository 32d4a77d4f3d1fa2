package lease

import (
	"context"
)

// Manager (tenure.LeaseManager) is the lease contract of a store. Implementations are safe for
// concurrent use, and package storetest proves them.
//
// Every call has one of three outcomes. Done: a nil error. Refused: a value in the answer, or
// [ErrSessionLapsed], [ErrInvalid], [ErrClosed], [ErrReadOnlyStore]; nothing was changed.
// Unknown: [ErrUnavailable]; the call may have happened, and the caller sends it again. So
// every method is safe to send twice: a lost reply neither loses nor doubles anything.
//
// Rules of every store:
//
//   - A lapsed session never comes back. Takeover and a late renewal are serialised by the
//     store: there is no instant at which both succeed. A session is alive while the store's
//     clock is before its expiry, and its keys are free from that instant on.
//   - Tokens only grow, per key, across release, lapse, takeover, deletion, restart and data
//     loss: token = max(previous + 1, store time in microseconds).
//   - Every expiry is judged by the store's clock, never by a client's.
//   - Arguments are checked before any I/O ([Session.Check], [CheckKey]); a session TTL above
//     the fleet's MaxTTL is refused with [ErrInvalid].
//   - A call returns promptly once its context ends, with an error that matches
//     [ErrUnavailable] and ctx.Err(). If the context had ended before, nothing happens.
//   - A call that was answered grants and extends nothing after its answer. A store that sends a
//     request again by itself, over another connection, must be sure that the first copy is not
//     carried out later; where it cannot be, it answers ErrUnavailable and leaves that to the caller.
//   - A lease record counts only in the incarnation that granted it, or in which it was verified.
//   - Returned slices belong to the caller.
type Manager interface {
	// OpenSession begins the session, or extends it where it is open already (a repeated call).
	// It ends no other session of the same owner. A session that has lapsed or was closed is
	// refused with ErrSessionLapsed while the store remembers it, which it does for at least
	// MaxTTL: make a new one with NewSession. While frozen it works, also for a lapsed one.
	OpenSession(ctx context.Context, s Session) (Incarnation, error)
	// Acquire grants every listed key that is free or already this session's; each key is decided
	// atomically and on its own. A key that is already this session's keeps its token. Listing a
	// key twice is answered once. ErrSessionLapsed: the session is not alive, nothing was granted;
	// while frozen that is ErrUnavailable (renew first). While frozen it grants nothing new: a key
	// that this session has verified meanwhile is answered with its token or as busy.
	Acquire(ctx context.Context, s Session, keys []string) (Grant, error)
	// Renew extends the session to TTL from now, and with it all that it holds, at a cost that
	// does not depend on how much that is. ErrSessionLapsed: everything is lost. While frozen it
	// re-opens a session that the store has forgotten.
	Renew(ctx context.Context, s Session) (Renewal, error)
	// Verify answers which of the leases are not this session's any more. While frozen it writes
	// a lease again where its record is absent or has no newer token. It extends nothing.
	// ErrSessionLapsed: the session is not alive; while frozen that is ErrUnavailable (renew first).
	Verify(ctx context.Context, s Session, leases []Lease) (Verification, error)
	// Release lets go of the leases at once. Each is matched by key, session and token; one that is
	// not this session's any more is no error and has no effect.
	Release(ctx context.Context, s Session, leases []Lease) error
	// CloseSession ends the session and lets go of everything it holds. Closing an unknown,
	// lapsed or closed session is no error.
	CloseSession(ctx context.Context, s Session) error
}

// Lister is an optional capability of a Manager: every lease that is held now, ordered by key.
type Lister interface {
	Leases(ctx context.Context) ([]Lease, error)
}

// Revoker is an optional capability of a Manager: the operator's break-glass.
type Revoker interface {
	// Revoke marks the key's lease and raises its session's revision, which Renew reports. Verify
	// then answers the lease as lost (ReasonRevoked). The key is grantable after the holder's
	// release, or at that session's expiry as it stood when Revoke was called, whichever is first.
	// Revoking a free key or revoking twice is no error. The holder's own repeated Acquire of a
	// revoked key is refused until then.
	Revoke(ctx context.Context, key string) error
}

// Provisioner is an optional capability of a Manager whose store can lose its data. Provision
// says that this fleet is new: its first start then needs no freeze. It is a deliberate act of
// whoever sets the fleet up; no process does it at start. On a fleet that exists it changes nothing.
type Provisioner interface {
	Provision(ctx context.Context) error
}

// Watcher is an optional capability of a store: hints that something changed.
type Watcher interface {
	// Watch calls f for each hint, one at a time, until ctx ends or the connection fails, and
	// returns why. f must return quickly. Hints may be lost, late or doubled; they carry no
	// truth and only make the next look come early. The first call of f is a ChangeResync.
	Watch(ctx context.Context, f func(Change)) error
}

// Change is a hint.
type Change struct {
	Kind ChangeKind
	// Key is the workload for ChangeReleased and ChangeRevoked; empty where several changed at once.
	Key string
	// Instance is the member for ChangeJoined, ChangeLeft and ChangeDraining, where it is known.
	Instance string
}

// ChangeKind says what a hint is about.
type ChangeKind string

// The kinds of hints. There is never one per renewal or heartbeat.
const (
	ChangeReleased ChangeKind = "released" // leases became free; never for a session that held none
	ChangeRevoked  ChangeKind = "revoked"  // a lease was revoked: its holder verifies early
	ChangeJoined   ChangeKind = "joined"
	ChangeLeft     ChangeKind = "left"
	ChangeDraining ChangeKind = "draining"
	ChangePlanned  ChangeKind = "planned" // targets were written: read yours
	ChangeResync   ChangeKind = "resync"  // the subscription is (again) in place; something may have been missed
)
