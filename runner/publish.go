package runner

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/status"
)

// mostRecords bounds one batch, so that its answer comes well within the call timeout.
const mostRecords = 1000

// publisher is what the set knows of the status store. Guarded by the set's mutex; the calls are
// made beside the loop, one at a time.
type publisher struct {
	pending map[string]status.Record // the newest record of each key that is not written yet
	busy    bool
	due     time.Duration // of the next extension
	until   time.Duration // how long it may wait for a trip that is announced
	offered bool          // it is on the board, or was taken along and not answered yet
	retryAt time.Duration // not before: after a failure
	last    time.Duration // when the last success was sent
	failing bool
	life    uint64 // the store's incarnation at the last look
}

func newPublisher() publisher {
	return publisher{pending: map[string]status.Record{}}
}

// record queues the present state of a workload's term. It is written at once, together with
// whatever else is waiting, or as soon as the call in flight is over. The mutex is held.
func (s *Set) record(w *workload, state status.State, info string) {
	if s.cfg.Status == nil {
		return
	}
	s.pub.pending[w.spec.Key] = status.Record{
		Key: w.spec.Key, Name: w.spec.Name, State: state, Owner: s.owner, Token: w.token, Info: info,
	}
	s.pub.retryAt = 0
}

// publishAt returns when publish has something to do, at the latest at most.
func (s *Set) publishAt(most time.Duration) time.Duration {
	p := &s.pub
	switch {
	case s.cfg.Status == nil || p.busy:
		return most
	case len(p.pending) > 0:
		return min(most, p.retryAt)
	case s.working > 0:
		return min(most, p.due)
	}
	return most
}

// publish sends what is pending, or else extends what was written once per renew interval. The
// mutex is held.
func (s *Set) publish(now time.Duration) {
	p := &s.pub
	if s.publishAt(now+1) > now {
		s.offer(now)
		return
	}
	if s.carried(now) {
		return
	}
	if s.working > 0 && s.forgotten(now) {
		s.restate()
	}
	batch := make([]status.Record, 0, min(len(p.pending), mostRecords))
	for _, key := range slices.Sorted(maps.Keys(p.pending)) {
		if len(batch) == mostRecords {
			break
		}
		batch = append(batch, p.pending[key])
		delete(p.pending, key)
	}
	p.busy = true
	// Never early: in steady state there is at most one call per renew interval.
	s.extendAfter(now)
	ctx := s.callCtx
	s.calls.Go(func() { s.put(ctx, batch, now) })
}

// forgotten reports whether the store may have lost what was written: it answered nothing for as
// long as a record lives, or it began a new life.
func (s *Set) forgotten(now time.Duration) bool {
	p := &s.pub
	life := s.keeper.State().Incarnation
	renewed := p.life != 0 && life != p.life
	p.life = life
	return renewed || p.failing && now-p.last >= s.timing.LeaseTTL
}

// restate queues the record of every term whose work runs.
func (s *Set) restate() {
	for key, w := range s.workloads {
		r := w.run.Load()
		if _, queued := s.pub.pending[key]; queued || r == nil || !r.working {
			continue
		}
		state := status.Active
		if r.winding {
			state = status.Transferring
		}
		s.record(w, state, w.spec.Info)
	}
}

// put makes the call. The store gets a copy: an abandoned call may touch it later.
func (s *Set) put(ctx context.Context, batch []status.Record, sent time.Duration) {
	_, err := call.Do(ctx, &s.gate, "PutStatus", s.timing.CallTimeout, func(ctx context.Context) (struct{}, error) {
		return struct{}{}, s.cfg.Status.PutStatus(ctx, s.owner, s.timing.LeaseTTL, slices.Clone(batch))
	})
	s.post(func() { s.wrote(batch, sent, err) })
}

// wrote draws the consequences. The mutex is held.
func (s *Set) wrote(batch []status.Record, sent time.Duration, err error) {
	p := &s.pub
	now := s.line.Now()
	p.busy = false
	tell(s, s.observe.status, StatusObserver.ObserveStatus, StatusEvent{Records: len(batch), Err: err, Took: now - sent})
	if err == nil {
		p.last = sent
		if p.failing {
			s.logs(slog.LevelInfo, "status is published again")
		}
	} else {
		p.retryAt = now + s.later(s.timing.RenewInterval)
		p.due = max(p.due, p.retryAt)
		if !p.failing {
			s.logs(slog.LevelWarn, "status is not published; retrying", slog.Any("error", err))
		}
	}
	p.failing = err != nil
	for _, rec := range batch {
		if _, newer := p.pending[rec.Key]; err != nil && !newer {
			p.pending[rec.Key] = rec
		}
		if rec.State == status.Inactive {
			s.said(rec)
		}
	}
}

// said lets go of the key whose last status was written, or at least tried.
func (s *Set) said(rec status.Record) {
	w := s.workloads[rec.Key]
	if w == nil {
		return
	}
	if r := w.run.Load(); r != nil && !r.working && r.Token() == rec.Token {
		s.release(w, r)
	}
}

// later returns d, or up to the jitter more.
func (s *Set) later(d time.Duration) time.Duration {
	return d + time.Duration(float64(d)*s.timing.Jitter*s.clock.Float64())
}
