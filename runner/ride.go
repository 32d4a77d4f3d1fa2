package runner

import (
	"time"

	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// extendAfter draws when the statuses that were written then are extended next. Where a trip is announced that may
// wait for it until the latest time that it could have drawn.
func (s *Set) extendAfter(sent time.Duration) {
	p, every := &s.pub, s.timing.RenewInterval
	p.due = sent + s.later(every)
	p.until = sent + every + time.Duration(float64(every)*max(s.timing.Jitter, 0)) + 1
}

// offer has the next trip take the extension along. A batch with records is never put off, and another try after a
// failure goes alone. The mutex is held.
func (s *Set) offer(now time.Duration) {
	p := &s.pub
	if p.offered || p.busy || p.failing || s.working == 0 || len(p.pending) > 0 || !s.trips.To(s.cfg.Status) {
		return
	}
	if s.forgotten(now) {
		s.restate()
		if len(p.pending) > 0 {
			s.poke()
			return
		}
	}
	p.offered = true
	keeper, sent := s.keeper, now
	s.trips.Status.Put(s.trips, 0, tick.Offer[tick.PutStatus, struct{}]{
		Part:   tick.PutStatus{Owner: s.owner, TTL: s.timing.LeaseTTL},
		Leaves: func() { sent = s.line.Now() },
		Answer: func(_ struct{}, err error) {
			s.post(func() {
				if s.keeper != keeper {
					return // of a Run that has ended
				}
				p.offered = false
				s.extendAfter(sent)
				s.wrote([]status.Record{}, sent, err)
			})
		},
	})
}

// carried reports whether what is due need not be sent now: a trip will extend the statuses in time, or one that is
// under way does. The mutex is held.
func (s *Set) carried(now time.Duration) bool {
	p := &s.pub
	if !p.offered {
		return false
	}
	if len(p.pending) == 0 && now < p.until && s.trips.Within(p.until-now) {
		p.due = p.until
		return true
	}
	if p.offered = !s.trips.Status.Withdraw(); p.offered {
		p.busy = true
	}
	return p.busy
}

// withdraw takes the offer back at the end of a Run. The mutex is held.
func (s *Set) withdraw() {
	if s.pub.offered {
		s.trips.Status.Withdraw()
	}
}
