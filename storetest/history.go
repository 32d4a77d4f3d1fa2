package storetest

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// opKind is what a logged operation claims, once it is known to be done.
type opKind string

const (
	opExtend  opKind = "extend"  // OpenSession or Renew: the session lives for ttl from some moment of the call
	opGrant   opKind = "grant"   // Acquire of one key
	opRefuse  opKind = "refuse"  // Acquire of one key, answered "another holds it"
	opVerify  opKind = "verify"  // Verify of one lease, answered "held"
	opRelease opKind = "release" // Release of one lease
	opClose   opKind = "close"   // CloseSession
	opLapse   opKind = "lapse"   // any call, answered "this session is over"
)

// op is one operation as its caller saw it: it took effect at some moment between call and ret.
// An op whose outcome is unknown may have taken effect at any moment after call, or never.
type op struct {
	kind    opKind
	session string
	key     string
	token   uint64
	ttl     time.Duration
	call    time.Duration
	ret     time.Duration
	unknown bool
}

func (o op) String() string {
	text := fmt.Sprintf("%s of session %.8s", o.kind, o.session)
	if o.key != "" {
		text += fmt.Sprintf(", key %q", o.key)
	}
	if o.token > 0 {
		text += fmt.Sprintf(", token %d", o.token)
	}
	text += fmt.Sprintf(" [%v, %v]", o.call, o.ret)
	if o.unknown {
		text += " (unknown)"
	}
	return text
}

// history collects operations. It is safe for concurrent use.
type history struct {
	mu    sync.Mutex
	start time.Time
	last  time.Duration
	ops   []op
}

func newHistory() *history { return &history{start: time.Now()} }

// now is the time since the history began, on the monotonic clock. No two answers are equal, so that
// calls keep their order in virtual time, which stands still while they are made.
func (h *history) now() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.last = max(h.last+1, time.Since(h.start))
	return h.last
}

func (h *history) add(ops ...op) {
	h.mu.Lock()
	h.ops = append(h.ops, ops...)
	h.mu.Unlock()
}

func (h *history) all() []op {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.ops)
}

// violations tries the operations against the rules of every store and describes what breaks them.
// Every rule is one-sided: an order or a moment that the callers cannot know counts for the store.
// slack covers the rounding and the rate of the store's clock.
func violations(ops []op, slack time.Duration) []string {
	x := index(ops, slack)
	var bad []string
	for _, key := range sortedKeys(x.keys) {
		bad = append(bad, x.tokens(key)...)
		bad = append(bad, x.overlaps(key)...)
		bad = append(bad, x.proofs(key)...)
		bad = append(bad, x.refusals(key)...)
	}
	for _, id := range sortedKeys(x.sessions) {
		bad = append(bad, x.revivals(id)...)
	}
	return bad
}

// life is what the history knows of one session.
type life struct {
	extends []op // done, by call
	uses    []op // done grants and verifies
	ends    []op // opLapse, done opClose
	closes  []op // opClose, done or unknown
	vague   bool // some extend is unknown: nothing bounds this life from above
}

// earliest is the first moment at which the session can have lapsed.
func (l *life) earliest() time.Duration {
	var at time.Duration
	for _, o := range l.extends {
		at = max(at, o.call+o.ttl)
	}
	return at
}

// latest is the last moment at which the session can have been alive, as far as the extensions
// that skip does not leave out can tell.
func (l *life) latest(skip func(op) bool) time.Duration {
	if l.vague {
		return math.MaxInt64
	}
	var at time.Duration
	for _, o := range l.extends {
		if !skip(o) {
			at = max(at, o.ret+o.ttl)
		}
	}
	return at
}

// ended reports whether the session was known to be over before the moment.
func (l *life) ended(before, slack time.Duration) bool {
	for _, o := range l.ends {
		if o.ret < before {
			return true
		}
	}
	return !l.vague && l.latest(func(op) bool { return false })+slack < before
}

// term is one lease: a key under one token.
type term struct {
	key   string
	token uint64
}

// ledger is the history sorted by what the rules ask for.
type ledger struct {
	slack    time.Duration
	keys     map[string]bool
	grants   map[string][]op // per key, done, by token, then call
	maybe    map[string][]op // per key, unknown
	refused  map[string][]op
	proven   map[string][]op // opVerify
	released map[term][]op
	sessions map[string]*life
}

func index(ops []op, slack time.Duration) *ledger {
	x := &ledger{slack: slack, keys: map[string]bool{}, grants: map[string][]op{}, maybe: map[string][]op{},
		refused: map[string][]op{}, proven: map[string][]op{}, released: map[term][]op{}, sessions: map[string]*life{}}
	for _, o := range ops {
		if o.key != "" {
			x.keys[o.key] = true
		}
		if x.sessions[o.session] == nil {
			x.sessions[o.session] = &life{}
		}
		x.put(o, x.sessions[o.session])
	}
	for _, grants := range x.grants {
		slices.SortFunc(grants, func(a, b op) int { return cmp.Or(cmp.Compare(a.token, b.token), cmp.Compare(a.call, b.call)) })
	}
	for _, l := range x.sessions {
		slices.SortFunc(l.extends, func(a, b op) int { return cmp.Compare(a.call, b.call) })
	}
	return x
}

func (x *ledger) put(o op, l *life) {
	switch o.kind {
	case opExtend:
		if o.unknown {
			l.vague = true
			return
		}
		l.extends = append(l.extends, o)
	case opClose:
		l.closes = append(l.closes, o)
		if !o.unknown {
			l.ends = append(l.ends, o)
		}
	case opLapse:
		l.ends = append(l.ends, o)
	case opGrant:
		if o.unknown {
			x.maybe[o.key] = append(x.maybe[o.key], o)
			return
		}
		x.grants[o.key] = append(x.grants[o.key], o)
		l.uses = append(l.uses, o)
	case opRefuse:
		x.refused[o.key] = append(x.refused[o.key], o)
	case opVerify:
		x.proven[o.key] = append(x.proven[o.key], o)
		l.uses = append(l.uses, o)
	case opRelease:
		t := term{o.key, o.token}
		x.released[t] = append(x.released[t], o)
	}
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
