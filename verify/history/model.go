package history

import (
	"fmt"
	"strings"
	"time"

	"github.com/anishathalye/porcupine"
)

// The operations of a history.
const (
	opOpen    = "open"
	opRenew   = "renew"
	opClose   = "close"
	opAcquire = "acquire"
	opVerify  = "verify"
	opRelease = "release"
)

// outcome is what a call was answered.
type outcome string

const (
	done    outcome = "done"
	refused outcome = "refused"           // nothing was done: the key was busy, or an argument was refused
	held    outcome = "held"              // by another session
	lost    outcome = "lost"              // a Verify: not this session's any more
	lapsed  outcome = "lapsed"            // the session is over
	unknown outcome = "unknown"           // it may have happened, or will
	missing outcome = "without an answer" // the store left the key out
)

type input struct {
	op               string
	session, key     int
	owner            string
	token            uint64
	ttl              time.Duration
	called, returned time.Duration
}

type output struct {
	outcome outcome
	token   uint64
	holder  string // the instance that holds the key
}

// Limits of a history, so that a state is a small value that can be compared.
const (
	maxSessions = 24
	maxKeys     = 4
)

// state is the model's: what one order of calls has led to.
type state struct {
	sessions [maxSessions]session
	keys     [maxKeys]key
}

// session lies between unborn, alive and over. Its expiry is between least and most.
type session struct {
	born, over  bool
	least, most time.Duration
}

// key is who holds it: the number of the session plus one, 0 for nobody. The token is the last that anybody was
// told; unsure: the holder's is above it, and nobody was told.
type key struct {
	holder int
	owner  string
	token  uint64
	unsure bool
}

// slack covers the rounding of life times to a store's unit, up.
const slack = 2 * time.Millisecond

// alive reports whether the session may be alive at some instant of the call.
func (s session) alive(in input) bool { return s.born && !s.over && in.called < s.most }

// ended reports whether it may be over at some instant of the call.
func (s session) ended(in input) bool { return !s.born || s.over || in.returned >= s.least }

// extend is a successful opening or renewal.
func (s *session) extend(in input) {
	s.born = true
	s.least = max(s.least, in.called+in.ttl-slack)
	s.most = forever
	if in.returned < forever {
		s.most = in.returned + in.ttl + slack
	}
}

// step returns every state that a call with this answer may lead to.
func step(s state, in input, out output) []state {
	if out.outcome == missing {
		return nil
	}
	if out.outcome == refused {
		return []state{s}
	}
	var next []state
	switch in.op {
	case opOpen:
		next = open(s, in, out)
	case opRenew:
		next = renew(s, in, out)
	case opClose:
		next = shut(s, in)
	case opAcquire:
		next = acquire(s, in, out)
	case opVerify:
		next = verify(s, in, out)
	case opRelease:
		next = release(s, in)
	}
	if out.outcome == unknown {
		next = append(next, s) // it did not happen
	}
	return next
}

// over is the state in which the session is known to be over. One that was never opened still can be.
func over(s state, n int) state {
	s.sessions[n].over = s.sessions[n].born
	return s
}

func open(s state, in input, out output) []state {
	me := s.sessions[in.session]
	if out.outcome == lapsed {
		if me.born && me.ended(in) {
			return []state{over(s, in.session)}
		}
		return nil
	}
	if me.born && !me.alive(in) {
		return nil // it came back
	}
	s.sessions[in.session].extend(in)
	return []state{s}
}

func renew(s state, in input, out output) []state {
	me := s.sessions[in.session]
	if out.outcome == lapsed {
		if me.ended(in) {
			return []state{over(s, in.session)}
		}
		return nil
	}
	if !me.alive(in) {
		return nil
	}
	s.sessions[in.session].extend(in)
	return []state{s}
}

func shut(s state, in input) []state {
	return []state{over(s, in.session)}
}

// mayTake returns the state in which the key is free, if that may be.
func mayTake(s state, in input) (state, bool) {
	k := &s.keys[in.key]
	if k.holder == 0 {
		return s, true
	}
	n := k.holder - 1
	if !s.sessions[n].ended(in) {
		return s, false
	}
	s = over(s, n)
	s.keys[in.key].holder = 0
	return s, true
}

func acquire(s state, in input, out output) []state {
	me, k := s.sessions[in.session], s.keys[in.key]
	switch out.outcome {
	case lapsed:
		if me.ended(in) {
			return []state{over(s, in.session)}
		}
		return nil
	case held:
		n := k.holder - 1
		if !me.alive(in) || k.holder == 0 || n == in.session || k.owner != out.holder || !s.sessions[n].alive(in) {
			return nil
		}
		return []state{s}
	case unknown:
		return acquireUnknown(s, in)
	}
	if !me.alive(in) {
		return nil
	}
	if k.holder == in.session+1 { // a repeated call
		if k.unsure != (out.token > k.token) || out.token < k.token {
			return nil
		}
		s.keys[in.key].token, s.keys[in.key].unsure = out.token, false
		return []state{s}
	}
	s, ok := mayTake(s, in)
	if !ok || s.sessions[in.session].over || out.token <= k.token {
		return nil
	}
	s.keys[in.key] = key{in.session + 1, in.owner, out.token, false}
	return []state{s}
}

// acquireUnknown is a call that may have granted the key with a token that nobody was told: the next
// that is seen will be above the last that was.
func acquireUnknown(s state, in input) []state {
	if !s.sessions[in.session].alive(in) || s.keys[in.key].holder == in.session+1 {
		return nil
	}
	s, ok := mayTake(s, in)
	if !ok || s.sessions[in.session].over {
		return nil
	}
	s.keys[in.key] = key{in.session + 1, in.owner, s.keys[in.key].token, true}
	return []state{s}
}

func verify(s state, in input, out output) []state {
	me, k := s.sessions[in.session], s.keys[in.key]
	mine := k.holder == in.session+1 && k.token == in.token && !k.unsure
	switch out.outcome {
	case lapsed:
		if me.ended(in) {
			return []state{over(s, in.session)}
		}
		return nil
	case unknown:
		return nil // it changes nothing
	}
	if !me.alive(in) || mine != (out.outcome == done) {
		return nil
	}
	return []state{s}
}

func release(s state, in input) []state {
	if k := &s.keys[in.key]; k.holder == in.session+1 && k.token == in.token && !k.unsure {
		k.holder = 0
	}
	return []state{s}
}

// model is the sequential specification as porcupine takes it.
func model() porcupine.Model {
	m := porcupine.NondeterministicModel{
		Init: func() []any { return []any{state{}} },
		Step: func(s, in, out any) []any {
			var all []any
			for _, next := range step(s.(state), in.(input), out.(output)) {
				all = append(all, next)
			}
			return all
		},
		Equal:             func(a, b any) bool { return a.(state) == b.(state) },
		DescribeOperation: func(in, out any) string { return describe(in.(input), out.(output)) },
		DescribeState:     func(s any) string { return s.(state).String() },
	}
	return m.ToModel()
}

func describe(in input, out output) string {
	text := fmt.Sprintf("%s s%d", in.op, in.session)
	if in.key >= 0 {
		text += fmt.Sprintf(" k%d", in.key)
	}
	if in.token > 0 {
		text += fmt.Sprintf(" token %d", in.token)
	}
	text += " -> " + string(out.outcome)
	if out.token > 0 {
		text += fmt.Sprintf(" token %d", out.token)
	}
	if out.holder != "" {
		text += " by " + out.holder
	}
	return text
}

// String is for the page.
func (s state) String() string {
	var text strings.Builder
	for i, k := range s.keys {
		if k.holder > 0 {
			fmt.Fprintf(&text, "k%d: s%d token %d; ", i, k.holder-1, k.token)
		}
	}
	for i, x := range s.sessions {
		if x.over {
			fmt.Fprintf(&text, "s%d over; ", i)
		} else if x.born {
			fmt.Fprintf(&text, "s%d ends %v to %v; ", i, x.least, x.most)
		}
	}
	return text.String()
}
