// Package lease is exclusive ownership of named workloads by living processes.
//
// It has two sides. [Manager] is the contract that a store fulfils. [Keeper] is the engine that
// uses it: it owns one [Session] of one instance, renews it, and tells its claimants when a key is
// theirs and when it is not. Package runner turns that into jobs that start and stop; most
// programs use that, and this package only for its [Timing] and its errors.
//
// # Leases hang off sessions
//
// A process holds one session however many keys it holds, and a lease names the session that it
// was granted to. Renewing the session keeps all its leases alive, so ten thousand workloads cost
// the same small write per interval as one. A session that lapses takes all its leases with it,
// and never comes back.
//
// # What is guaranteed
//
//   - One owner. For each key at most one process is inside a term whose [Hold.Valid] is true, as
//     long as the store keeps what it acknowledged, or knows that it did not (see Incarnations),
//     and clock rates differ by less than Margin/LeaseTTL. Clock offsets never matter: expiry is
//     judged by the store's clock, deadlines by the holder's monotonic clock.
//   - Tokens only grow, per key, for ever: across release, takeover, restart and data loss.
//   - A term ends on time. Its deadline is the moment just before the last successful renewal was
//     sent, plus TTL, minus margin. When it passes, the claimant is told, whatever the store is
//     doing, even while calls to it hang and ignore their context. Time that the machine slept
//     counts.
//   - A term that ended never comes back, though an answer arrives late or twice.
//   - A lease is never released under a running worker: only [Hold.Release] lets go.
//
// # What is not guaranteed
//
// A process that is paused does not know it: between its wake-up and its next look at
// [Hold.Valid] it may act on a term that is over. Where that matters, send the token along and let
// the guarded resource refuse an older one than it has seen. No order or fairness is promised
// among those who wait for a key.
//
// # Three outcomes
//
// A store call is done, refused, or unknown ([ErrUnavailable]). Refused ends a term at once.
// Unknown is retried until the deadline, since the call may have happened; every call is safe to
// send twice. An Acquire whose answer was lost is repeated until its outcome is known, also when
// nobody wants the key any more: then it is given back.
//
// # The life of a claim
//
//	        Claim                 Granted                Release (worker has returned)
//	(none) ───────▶ contending ───────────▶ held ─────────────────▶ releasing ──▶ Released
//	                 ▲   │ Refused: again      │ Lost                    ▲            │
//	                 │   ▼ at RetryAfter       ▼ (deadline, lapse,       │            │
//	                 │  contending            over  revocation) ─────────┘            │
//	                 └────────────────────────── Contend ─────────────────────────────┘
//
// # What each failure looks like
//
//	store does not answer      the holder keeps its terms until their deadline, then loses them (unreachable)
//	one answer lost            nothing: the call is repeated
//	holder's network cut off   as above for the holder; others are granted its keys at its session's expiry
//	holder killed              others are granted its keys at its session's expiry
//	holder paused past its TTL its terms are over before its next look; the store knows it no more
//	lease revoked              the holder is told at its next renewal or by a hint (revoked)
//	store lost its data        nothing, within the outage of [Timing.Outage]: leases are proven again
//
// # Incarnations
//
// A store may lose its latest writes: a wipe, an old snapshot, the promotion of a lagging
// replica. It then begins a new incarnation, which every answer names ([Incarnation]), and grants
// nothing new for the fleet's MaxTTL. Meanwhile each holder verifies what it holds, and the store
// writes it down again. A renewal extends only what was granted or verified in the incarnation
// that answers, and an answer of an earlier incarnation than one already seen is ignored. So a
// store that forgets neither makes a second owner nor ends a term.
//
// # Choosing times
//
// LeaseTTL is how long a crashed owner's keys stay taken. RenewInterval decides how many renewals
// may fail in a row: [Timing.Outage] is what the store may be away for. Margin must cover the
// difference of clock rates over one TTL, and the time from the deadline until the worker has
// really stopped acting.
package lease
