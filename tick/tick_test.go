package tick_test

import (
	"context"
	"errors"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// store notes the calls of a trip.
type store struct {
	tick.Store
	calls []string
	at    func(op string)
	trips []tick.Parts
}

func (s *store) did(op string) {
	s.calls = append(s.calls, op)
	if s.at != nil {
		s.at(op)
	}
}

func (s *store) Renew(context.Context, lease.Session) (lease.Renewal, error) {
	s.did("Renew")
	return lease.Renewal{Revision: 7}, nil
}

func (s *store) Verify(context.Context, lease.Session, []lease.Lease) (lease.Verification, error) {
	s.did("Verify")
	return lease.Verification{}, lease.ErrSessionLapsed
}

func (s *store) Heartbeat(context.Context, registry.Self, time.Duration, registry.Generation) (registry.View, error) {
	s.did("Heartbeat")
	return registry.View{Generation: 8}, nil
}

func (s *store) PutStatus(context.Context, instance.ID, time.Duration, []status.Record) error {
	s.did("PutStatus")
	return nil
}

func (s *store) Tick(ctx context.Context, p tick.Parts) tick.Answers {
	s.trips = append(s.trips, p)
	return tick.Each(ctx, s, p)
}

var whole = tick.Parts{Renew: &tick.Renew{}, Verify: &tick.Verify{}, Heartbeat: &tick.Heartbeat{}, PutStatus: &tick.PutStatus{}}

func TestEachMakesEveryCallInOrder(t *testing.T) {
	s := &store{}
	a := tick.Each(t.Context(), s, whole)
	if want := []string{"Renew", "Verify", "Heartbeat", "PutStatus"}; !reflect.DeepEqual(s.calls, want) {
		t.Errorf("calls %v, want %v", s.calls, want)
	}
	if a.Renew.Value.Revision != 7 || a.Heartbeat.Value.Generation != 8 || !errors.Is(a.Verify.Err, lease.ErrSessionLapsed) {
		t.Errorf("answers %+v", a)
	}
	if a := tick.Each(t.Context(), s, tick.Parts{}); len(s.calls) != 4 || !reflect.DeepEqual(a, tick.Answers{}) {
		t.Errorf("without parts: calls %v, answers %+v", s.calls, a)
	}
}

func TestEachStopsWhereItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	s := &store{at: func(op string) {
		if op == "Verify" {
			cancel()
		}
	}}
	a := tick.Each(ctx, s, whole)
	if len(s.calls) != 2 || a.Renew.Err != nil {
		t.Errorf("calls %v, answers %+v", s.calls, a)
	}
	for _, err := range []error{a.Heartbeat.Err, a.PutStatus} {
		if !errors.Is(err, lease.ErrUnavailable) || !errors.Is(err, context.Canceled) {
			t.Errorf("a part that was not reached answers %v", err)
		}
	}
}

func carry(t *testing.T, b *tick.Board, leases ...lease.Lease) lease.Carried {
	t.Helper()
	return b.Carry(t.Context(), &call.Gate{}, time.Second, lease.Session{ID: "s"}, leases)
}

func TestBoardTakesAlongWhatIsDue(t *testing.T) {
	s := &store{}
	b := tick.NewBoard(s, nil)
	var heard []string
	offer := func(generation registry.Generation) tick.Offer[tick.Heartbeat, registry.View] {
		return tick.Offer[tick.Heartbeat, registry.View]{
			Part:   tick.Heartbeat{Known: generation},
			Leaves: func() { heard = append(heard, "leaves") },
			Answer: func(v registry.View, err error) {
				if v.Generation != 8 || err != nil {
					t.Errorf("answered %+v, %v", v, err)
				}
				heard = append(heard, "answer")
			},
		}
	}
	b.Beat.Put(b, time.Hour, offer(1))
	if c := carry(t, b); c.Renewal.Revision != 7 || len(s.trips) != 1 || s.trips[0].Heartbeat != nil || s.trips[0].Verify != nil {
		t.Errorf("%+v brought %+v; the heartbeat is not due for an hour, and there is no lease", s.trips, c)
	}
	if !b.Beat.Withdraw() || b.Beat.Withdraw() {
		t.Error("an offer is there until it is withdrawn, once")
	}
	b.Beat.Put(b, 0, offer(2))
	if c := carry(t, b, lease.Lease{Key: "k"}); !errors.Is(c.VerifyErr, lease.ErrSessionLapsed) || s.trips[1].Heartbeat == nil || s.trips[1].Heartbeat.Known != 2 {
		t.Errorf("%+v brought %+v", s.trips[1], c)
	}
	if b.Beat.Withdraw() || !reflect.DeepEqual(heard, []string{"leaves", "answer"}) {
		t.Errorf("heard %v", heard)
	}
}

// An offer is taken or withdrawn, and never both.
func TestAnOfferGoesOneWay(t *testing.T) {
	b := tick.NewBoard(&store{}, nil)
	for range 300 {
		var answered atomic.Int32
		b.Status.Put(b, 0, tick.Offer[tick.PutStatus, struct{}]{Leaves: func() {}, Answer: func(struct{}, error) { answered.Add(1) }})
		var both sync.WaitGroup
		back := false
		both.Go(func() { back = b.Status.Withdraw() })
		both.Go(func() { carry(t, b) })
		both.Wait()
		if back == (answered.Load() == 1) {
			t.Fatalf("withdrawn: %v, answered %d times", back, answered.Load())
		}
	}
}

func TestATripThatFailsAnswersEveryPart(t *testing.T) {
	s := &store{at: func(string) { panic("a store's bug") }}
	b := tick.NewBoard(s, nil)
	var told error
	b.Beat.Put(b, 0, tick.Offer[tick.Heartbeat, registry.View]{Leaves: func() {}, Answer: func(_ registry.View, err error) { told = err }})
	c := carry(t, b, lease.Lease{Key: "k"})
	for _, err := range []error{told, c.RenewErr, c.VerifyErr} {
		if !errors.Is(err, lease.ErrUnavailable) {
			t.Errorf("answered %v, want ErrUnavailable", err)
		}
	}
}

func TestBoardIsForOneStore(t *testing.T) {
	s := &store{}
	b := tick.NewBoard(s, nil)
	if !b.To(s) || b.To(&store{}) || b.To(nil) || (*tick.Board)(nil).To(s) {
		t.Error("a board carries to its own store alone")
	}
	if tick.NewBoard(struct{ lease.Manager }{s}, nil) != nil {
		t.Error("a wrapper that hides Tick has no board")
	}
	if b.Within(time.Hour) {
		t.Error("no trip is announced")
	}
	b.Announce(time.Minute)
	if b.Within(50*time.Second) || !b.Within(time.Hour) {
		t.Error("the trip leaves in a minute")
	}
	b.Announce(-1)
	if b.Within(time.Hour) {
		t.Error("it was called off")
	}
}
