package sim

import (
	"context"
	"slices"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/tick"
)

// face is the client with the capabilities that the schedule gives its store.
func (c *client) face() coordinator.Store {
	switch s := c.p.w.s; {
	case s.Listed && s.Trips:
		return struct {
			lister
			trips
		}{lister{c}, trips{c}}
	case s.Listed:
		return lister{c}
	case s.Trips:
		return struct {
			*client
			trips
		}{c, trips{c}}
	}
	return c
}

// trips makes trips for a client.
type trips struct{ c *client }

// Tick implements tick.Ticker. What the network does to one of the parts it does to the trip, but that a
// part alone may be refused.
func (t trips) Tick(ctx context.Context, p tick.Parts) tick.Answers {
	c, on := t.c, onLease
	sent := c.model.sends(ctx, "Renew", p.Renew.Session)
	if p.Verify != nil {
		p.Verify = &tick.Verify{Session: p.Verify.Session, Leases: slices.Clone(p.Verify.Leases)}
		c.model.sends(ctx, "Verify", p.Verify.Session)
	}
	sends := p
	if p.Heartbeat != nil {
		c.p.w.checkBound(ctx, c.p, "Heartbeat")
		c.p.w.checkMark(c.p, p.Heartbeat.Self.Draining, "a heartbeat on a trip says so")
		if c.troubled(onRegistry, &on) {
			sends.Heartbeat = nil
		}
	}
	if p.PutStatus != nil {
		c.p.w.checkBound(ctx, c.p, "PutStatus")
		if c.troubled(onStatus, &on) {
			sends.PutStatus = nil
		}
	}
	a, err := call(ctx, c, on, "Tick", func(in context.Context) (tick.Answers, error) {
		if sends.Heartbeat != nil {
			c.p.arrives(ctx)
		}
		return c.p.w.server.tick(in, sends), nil
	})
	if err != nil {
		a = p.Fail(err)
	}
	if sends.Heartbeat == nil && p.Heartbeat != nil {
		a.Heartbeat.Err = errRefused
	}
	if sends.PutStatus == nil && p.PutStatus != nil {
		a.PutStatus = errRefused
	}
	c.p.w.count("trips")
	c.model.renewed(p.Renew.Session, sent, a.Renew.Value, a.Renew.Err)
	if p.Verify != nil {
		c.model.verified(p.Verify.Session, p.Verify.Leases, a.Verify.Value, a.Verify.Err)
	}
	if p.Heartbeat != nil && a.Heartbeat.Err == nil {
		a.Heartbeat.Value = c.distorted(p.Heartbeat.Self, a.Heartbeat.Value)
	}
	return a
}

// troubled reports whether a part of that contract is refused by itself. Another fault of the contract becomes the trip's.
func (c *client) troubled(contract string, on *string) bool {
	f := c.p.link.fault(contract)
	switch {
	case f == nil || f.on != contract || f.do == lie:
		return false
	case f.do == refuse:
		return true
	}
	*on = contract
	return false
}

// tick carries out what arrives of a trip.
func (s *server) tick(ctx context.Context, p tick.Parts) (a tick.Answers) {
	a.Renew.Value, a.Renew.Err = s.renew(ctx, p.Renew.Session)
	if v := p.Verify; v != nil {
		a.Verify.Value, a.Verify.Err = s.verify(ctx, v.Session, v.Leases)
	}
	if b := p.Heartbeat; b != nil {
		a.Heartbeat.Value, a.Heartbeat.Err = s.store.Heartbeat(ctx, b.Self, b.TTL, b.Known)
	}
	if r := p.PutStatus; r != nil {
		a.PutStatus = s.store.PutStatus(ctx, r.Owner, r.TTL, r.Records)
	}
	return a
}

// arrives notes that a heartbeat of the process arrives, and holds S7: nobody leaves while it waits for one. One that
// was given up, or a copy of one, may arrive after the instance has left: no engine can call it back.
func (p *process) arrives(ctx context.Context) {
	waits := ctx.Err() == nil // it ends when the caller has its answer, or gives up
	p.mu.Lock()
	left := p.left
	p.belated = p.belated || left && !waits
	p.mu.Unlock()
	if left && waits && p.alive() {
		p.w.fail("S7", "%s has left, and waited for a heartbeat that arrives now", p.id)
	}
}

// gaveUp reports whether a heartbeat arrived after the process had left, which it did not wait for.
func (p *process) gaveUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.belated
}

var _ lease.Watcher = struct {
	*client
	trips
}{}
