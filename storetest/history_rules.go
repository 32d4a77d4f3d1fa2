package storetest

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// tokens: in real-time order they never fall, and one token is one session's.
func (x *ledger) tokens(key string) (bad []string) {
	grants := x.grants[key]
	for i := 1; i < len(grants); i++ {
		if a, b := grants[i-1], grants[i]; a.token == b.token && a.session != b.session {
			bad = append(bad, fmt.Sprintf("one token granted to two sessions: %v and %v", a, b))
		}
	}
	byCall := slices.SortedFunc(slices.Values(grants), func(a, b op) int { return cmp.Compare(a.call, b.call) })
	byRet := slices.SortedFunc(slices.Values(grants), func(a, b op) int { return cmp.Compare(a.ret, b.ret) })
	var most op
	next := 0
	for _, g := range byCall {
		for ; next < len(byRet) && byRet[next].ret < g.call; next++ {
			if byRet[next].token > most.token {
				most = byRet[next]
			}
		}
		if g.token < most.token {
			bad = append(bad, fmt.Sprintf("the token fell: %v came after %v", g, most))
		}
	}
	return bad
}

// overlaps: when a token is granted, the term before it was let go or can have run out.
func (x *ledger) overlaps(key string) (bad []string) {
	var prev op
	for _, g := range firsts(x.grants[key]) {
		if prev.token != 0 && !x.canBeOver(prev, g) {
			bad = append(bad, fmt.Sprintf("two owners: %v while the session of %v cannot have lapsed before %v, and it was not let go",
				g, prev, x.sessions[prev.session].earliest()))
		}
		prev = g
	}
	return bad
}

// firsts returns per token the grant that returned first, by token.
func firsts(grants []op) (first []op) {
	for _, g := range grants {
		n := len(first) - 1
		switch {
		case n < 0 || first[n].token != g.token:
			first = append(first, g)
		case g.ret < first[n].ret:
			first[n] = g
		}
	}
	return first
}

func (x *ledger) canBeOver(prev, next op) bool {
	for _, o := range x.released[term{prev.key, prev.token}] {
		if o.session == prev.session && o.call <= next.ret {
			return true
		}
	}
	if prev.session == next.session {
		return false // a session that lapsed never comes back, so only a release ends its term under it
	}
	l := x.sessions[prev.session]
	for _, o := range l.closes {
		if o.call <= next.ret {
			return true
		}
	}
	return l.earliest()-x.slack <= next.ret
}

// proofs: nothing is verified after it was released, or after a later grant.
func (x *ledger) proofs(key string) (bad []string) {
	for _, v := range x.proven[key] {
		for _, o := range x.released[term{key, v.token}] {
			if !o.unknown && o.session == v.session && o.ret < v.call {
				bad = append(bad, fmt.Sprintf("verified after its release: %v after %v", v, o))
			}
		}
		for _, g := range x.grants[key] {
			if g.token > v.token && g.ret < v.call {
				bad = append(bad, fmt.Sprintf("verified after a later grant: %v after %v", v, g))
				break
			}
		}
	}
	return bad
}

// refusals: someone else can have held the key.
func (x *ledger) refusals(key string) (bad []string) {
	for _, r := range x.refused[key] {
		if !x.someoneHeld(r) {
			bad = append(bad, fmt.Sprintf("refused though nobody else can have held the key: %v", r))
		}
	}
	return bad
}

func (x *ledger) someoneHeld(r op) bool {
	for _, g := range x.maybe[r.key] {
		if g.session != r.session && g.call <= r.ret && !x.sessions[g.session].ended(r.call, x.slack) {
			return true
		}
	}
	for _, g := range x.grants[r.key] {
		if g.session == r.session || g.call > r.ret || x.sessions[g.session].ended(r.call, x.slack) {
			continue
		}
		gone := slices.ContainsFunc(x.released[term{g.key, g.token}], func(o op) bool {
			return !o.unknown && o.session == g.session && o.ret < r.call
		})
		if !gone {
			return true
		}
	}
	return false
}

// revivals: a session that is over stays over.
func (x *ledger) revivals(id string) (bad []string) {
	l := x.sessions[id]
	done := slices.Concat(l.extends, l.uses)
	for _, end := range l.ends {
		for _, o := range done {
			if end.ret < o.call {
				bad = append(bad, fmt.Sprintf("a session came back: %v after %v", o, end))
				break
			}
		}
	}
	if l.vague {
		return bad
	}
	for i, o := range l.extends {
		at := l.latest(func(other op) bool { return other.call >= o.call })
		if i > 0 && o.call > at+x.slack {
			bad = append(bad, fmt.Sprintf("a session was extended after its end at %v: %v", at, o))
		}
	}
	for _, o := range l.uses {
		if at := l.latest(func(other op) bool { return other.call > o.ret }); o.call > at+x.slack {
			bad = append(bad, fmt.Sprintf("a session was used after its end at %v: %v", at, o))
		}
	}
	return bad
}

// worst returns at most n violations in one text, and how many more there are.
func worst(bad []string, n int) string {
	text := ""
	for i, b := range bad {
		if i == n {
			return text + fmt.Sprintf("\n  and %d more", len(bad)-n)
		}
		text += "\n  " + b
	}
	return text
}

// tolerance is the slack for the store's clock: its rate and its rounding, never a whole unit.
func tolerance(unit time.Duration) time.Duration { return unit / 20 }
