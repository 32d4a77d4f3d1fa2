package storetest

import (
	"context"
	"errors"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/tick"
)

// What a store may do wrong with trips, and the checks that must say so.
const (
	tickRenewsNot      bug = "a trip renews nothing"
	tickVerifiesNot    bug = "a trip verifies nothing"
	tickBeatsNot       bug = "a trip answers an empty view"
	tickSaysNothing    bug = "a trip writes no status"
	tickForgetsKnown   bug = "a trip forgets the generation that is known"
	tickAllOrNothing   bug = "a part that is refused stops those behind it"
	tickChecksAll      bug = "a bad part refuses the whole trip"
	tickVerifiesFirst  bug = "a trip verifies before it renews"
	tickAlwaysRenews   bug = "a trip renews unasked"
	tickCut            bug = "a trip verifies 500 leases"
	tickRecordsCut     bug = "a trip writes 500 records"
	tickCalls          bug = "a trip is four round trips"
	tickOnce           bug = "a trip that is sent again is refused"
	tickNoContext      bug = "an ended context does not stop a trip"
	tickHangs          bug = "a trip hangs on after its context"
	tickAfterClose     bug = "a closed handle makes trips"
	tickUnknownIsDone  bug = "a trip whose answer was lost reads as done"
	tickLapsedUnheard  bug = "a trip of a session that is over reads as unknown"
	tickRevisionUntold bug = "a trip does not tell the revision"
)

var tickMutants = map[bug]string{
	tickRenewsNot: "G01", tickVerifiesNot: "G01", tickBeatsNot: "G01", tickSaysNothing: "G01", tickForgetsKnown: "G01", tickRevisionUntold: "G01",
	tickAllOrNothing: "G02", tickChecksAll: "G02", tickLapsedUnheard: "G02", tickVerifiesFirst: "G03", tickAlwaysRenews: "G04",
	tickCut: "G05", tickRecordsCut: "G05", tickCalls: "G06", tickOnce: "C07 C04", tickNoContext: "C01", tickHangs: "C02 C03", tickAfterClose: "Z01",
	tickUnknownIsDone: "C02 C03",
}

// aboard marks the context of a part: the trip has travelled already.
type aboard struct{}

// Tick implements tick.Ticker.
func (h *handle) Tick(ctx context.Context, p tick.Parts) (a tick.Answers) {
	if h.bug == tickCalls {
		return tick.Each(ctx, h, p)
	}
	if err := ctx.Err(); err != nil && h.bug != tickNoContext {
		return p.Fail(fault.Unavailable("tick", err))
	}
	if h.isClosed() && h.bug != tickAfterClose && h.bug != useAfterClose {
		return p.Fail(lease.ErrClosed)
	}
	way := ctx
	if h.bug == tickHangs {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		way = late
	}
	if err := h.travel(way); err != nil {
		if h.bug == tickUnknownIsDone {
			return a
		}
		return p.Fail(fault.Unavailable("tick", context.Cause(ctx)))
	}
	in := context.WithValue(context.WithoutCancel(ctx), aboard{}, true)
	a = h.spoil(tick.Each(in, h, h.spoilParts(in, p)), p)
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.drop {
		h.drop = false
		return p.Fail(fault.Unavailable("tick", nil))
	}
	return a
}

// spoilParts puts the model's bug into what a trip does.
func (h *handle) spoilParts(ctx context.Context, p tick.Parts) tick.Parts {
	switch {
	case h.bug == tickRenewsNot && p.Renew != nil:
		short := p.Renew.Session
		short.TTL = min(short.TTL, time.Second)
		p.Renew = &tick.Renew{Session: short}
	case h.bug == tickSaysNothing && p.PutStatus != nil:
		p.PutStatus = &tick.PutStatus{Owner: p.PutStatus.Owner, TTL: p.PutStatus.TTL}
	case h.bug == tickForgetsKnown && p.Heartbeat != nil:
		beat := *p.Heartbeat
		beat.Known = 0
		p.Heartbeat = &beat
	case h.bug == tickVerifiesFirst && p.Verify != nil:
		if _, err := h.Verify(ctx, p.Verify.Session, p.Verify.Leases); err != nil {
			p.Verify = &tick.Verify{Session: lease.Session{ID: "unknown", Owner: "unknown", TTL: time.Second}}
		}
	case h.bug == tickAlwaysRenews && p.Renew == nil:
		h.mu.Lock()
		for id, s := range h.sessions {
			s.ends = time.Now().Add(h.maxTTL)
			h.sessions[id] = s
		}
		h.mu.Unlock()
	case h.bug == tickCut && p.Verify != nil && len(p.Verify.Leases) > 500:
		p.Verify = &tick.Verify{Session: p.Verify.Session, Leases: p.Verify.Leases[:500]}
	case h.bug == tickRecordsCut && p.PutStatus != nil && len(p.PutStatus.Records) > 500:
		p.PutStatus = &tick.PutStatus{Owner: p.PutStatus.Owner, TTL: p.PutStatus.TTL, Records: p.PutStatus.Records[:500]}
	}
	return p
}

// spoil puts the model's bug into what a trip answers.
func (h *handle) spoil(a tick.Answers, p tick.Parts) tick.Answers {
	unknown := fault.Unavailable("tick", nil)
	switch h.bug {
	case tickVerifiesNot:
		a.Verify.Value.Lost = nil
	case tickBeatsNot:
		a.Heartbeat.Value.Members = nil
	case tickRevisionUntold:
		a.Renew.Value.Revision = 0
	case tickLapsedUnheard:
		if errors.Is(a.Renew.Err, lease.ErrSessionLapsed) {
			a.Renew.Err = unknown
		}
	case tickAllOrNothing:
		if a.Renew.Err != nil {
			return p.Fail(a.Renew.Err)
		}
	case tickChecksAll:
		if err := anyOf(a); errors.Is(err, lease.ErrInvalid) {
			return p.Fail(err)
		}
	case tickOnce:
		if p.Renew == nil {
			break
		}
		if id := p.Renew.Session.ID; h.stale[id] {
			return p.Fail(lease.ErrInvalid)
		}
		h.stale[p.Renew.Session.ID] = true
	}
	return a
}
