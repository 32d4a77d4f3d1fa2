package history

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/tenure-go/tenure/lease"
)

// Recorder collects the calls of several clients of one store. It is safe for concurrent use.
type Recorder struct {
	began time.Time

	mu       sync.Mutex
	clients  int
	sessions map[string]int
	keys     map[string]int
	ops      []porcupine.Operation
}

// NewRecorder begins a history: nothing is held when its first call is made.
func NewRecorder() *Recorder {
	return &Recorder{began: time.Now(), sessions: map[string]int{}, keys: map[string]int{}}
}

// Client returns a manager that records its calls of m. Each is for one goroutine at a time.
func (r *Recorder) Client(m lease.Manager) lease.Manager {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.clients++
	return &client{recorder: r, store: m, id: r.clients - 1}
}

// Len returns how many calls were recorded; a call about several keys counts once for each.
func (r *Recorder) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.ops)
}

// Unknown returns how many of them have no known outcome.
func (r *Recorder) Unknown() (n int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, op := range r.ops {
		if op.Output.(output).outcome == unknown {
			n++
		}
	}
	return n
}

// now is the recorder's clock.
func (r *Recorder) now() time.Duration { return time.Since(r.began) }

// forever is when a call without an answer returns.
const forever = time.Duration(1 << 62)

// add records one call. Sessions and keys become small numbers, in the order of their first appearance.
func (r *Recorder) add(c *client, in input, out output, sessionID, key string, called, returned time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	in.session = number(r.sessions, sessionID)
	in.key = -1
	if key != "" {
		in.key = number(r.keys, key)
	}
	if out.outcome == unknown {
		returned = forever
	}
	in.called, in.returned = called, returned
	r.ops = append(r.ops, porcupine.Operation{ClientId: c.id, Input: in, Call: int64(called), Output: out, Return: int64(returned)})
}

func number(of map[string]int, name string) int {
	n, ok := of[name]
	if !ok {
		n = len(of)
		of[name] = n
	}
	return n
}

// client is one client of the store.
type client struct {
	recorder *Recorder
	store    lease.Manager
	id       int
}

// outcomeOf sorts an error into the three outcomes of the contract.
func outcomeOf(err error) outcome {
	switch {
	case err == nil:
		return done
	case errors.Is(err, lease.ErrSessionLapsed):
		return lapsed
	case errors.Is(err, lease.ErrUnavailable):
		return unknown
	}
	return refused
}

// call records a call that is not about keys.
func (c *client) call(op string, s lease.Session, f func() error) {
	called := c.recorder.now()
	err := f()
	c.recorder.add(c, input{op: op, ttl: s.TTL}, output{outcome: outcomeOf(err)}, s.ID, "", called, c.recorder.now())
}

// OpenSession implements lease.Manager.
func (c *client) OpenSession(ctx context.Context, s lease.Session) (in lease.Incarnation, err error) {
	c.call(opOpen, s, func() error { in, err = c.store.OpenSession(ctx, s); return err })
	return in, err
}

// Renew implements lease.Manager.
func (c *client) Renew(ctx context.Context, s lease.Session) (r lease.Renewal, err error) {
	c.call(opRenew, s, func() error { r, err = c.store.Renew(ctx, s); return err })
	return r, err
}

// CloseSession implements lease.Manager.
func (c *client) CloseSession(ctx context.Context, s lease.Session) (err error) {
	c.call(opClose, s, func() error { err = c.store.CloseSession(ctx, s); return err })
	return err
}

// Acquire implements lease.Manager. Each key is decided on its own, and so recorded on its own.
func (c *client) Acquire(ctx context.Context, s lease.Session, keys []string) (lease.Grant, error) {
	called := c.recorder.now()
	g, err := c.store.Acquire(ctx, s, keys)
	returned := c.recorder.now()
	for _, key := range keys {
		out := output{outcome: outcomeOf(err)}
		if err == nil {
			out = answered(g, key)
		}
		c.recorder.add(c, input{op: opAcquire, ttl: s.TTL, owner: string(s.Owner)}, out, s.ID, key, called, returned)
	}
	return g, err
}

// answered is what a grant says of a key.
func answered(g lease.Grant, key string) output {
	if i := slices.IndexFunc(g.Leases, func(l lease.Lease) bool { return l.Key == key }); i >= 0 {
		return output{outcome: done, token: g.Leases[i].Token}
	}
	if i := slices.IndexFunc(g.Refused, func(r lease.Refusal) bool { return r.Key == key }); i >= 0 {
		if g.Refused[i].Busy {
			return output{outcome: refused}
		}
		return output{outcome: held, holder: string(g.Refused[i].Owner)}
	}
	return output{outcome: missing}
}

// Verify implements lease.Manager.
func (c *client) Verify(ctx context.Context, s lease.Session, leases []lease.Lease) (lease.Verification, error) {
	called := c.recorder.now()
	v, err := c.store.Verify(ctx, s, leases)
	returned := c.recorder.now()
	for _, l := range leases {
		out := output{outcome: outcomeOf(err)}
		if slices.ContainsFunc(v.Lost, func(x lease.Loss) bool { return x.Lease.Key == l.Key && x.Lease.Token == l.Token }) {
			out.outcome = lost
		}
		c.recorder.add(c, input{op: opVerify, ttl: s.TTL, token: l.Token}, out, s.ID, l.Key, called, returned)
	}
	return v, err
}

// Release implements lease.Manager.
func (c *client) Release(ctx context.Context, s lease.Session, leases []lease.Lease) error {
	called := c.recorder.now()
	err := c.store.Release(ctx, s, leases)
	returned := c.recorder.now()
	for _, l := range leases {
		c.recorder.add(c, input{op: opRelease, ttl: s.TTL, token: l.Token}, output{outcome: outcomeOf(err)}, s.ID, l.Key, called, returned)
	}
	return err
}
