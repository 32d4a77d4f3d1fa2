package lease

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/tenure-go/tenure/internal/race"
)

// steady answers every call at once and allocates nothing.
type steady struct{ Manager }

func (steady) Renew(context.Context, Session) (Renewal, error) {
	return Renewal{Incarnation: Incarnation{Number: 1}}, nil
}

func (steady) Verify(context.Context, Session, []Lease) (Verification, error) {
	return Verification{Incarnation: Incarnation{Number: 1}}, nil
}

// deaf is a claimant that hears nothing.
type deaf struct{}

func (deaf) Granted(*Hold)          {}
func (deaf) Refused(Refusal)        {}
func (deaf) Lost(*Hold, *LostError) {}
func (deaf) Released(*Hold)         {}

// holding is a keeper that holds n leases, whose loop is the test itself.
func holding(t testing.TB, n int) *Keeper {
	t.Helper()
	k, err := NewKeeper(steady{}, "owner", KeeperConfig{Timing: Timing{LeaseTTL: time.Hour, Jitter: -1}})
	if err != nil {
		t.Fatal(err)
	}
	s := &session{Session: NewSession("owner", time.Hour), open: true}
	s.deadline.Store(int64(time.Hour))
	k.session, k.incarnation = s, 1
	for i := range n {
		key := fmt.Sprintf("workload-%06d", i)
		if _, err := k.Claim(key, deaf{}); err != nil {
			t.Fatal(err)
		}
		k.mu.Lock()
		k.granted(k.entries[key], Lease{Key: key, Owner: "owner", Session: s.ID, Token: 1}, s, 0)
		k.mu.Unlock()
	}
	k.tell()
	return k
}

// tick is one interval of a keeper at rest: what is due is asked for, and the answers are applied.
func (k *Keeper) tick(ctx context.Context) (calls int) {
	k.mu.Lock()
	now := k.line.Now()
	for l := range k.lanes {
		k.lanes[l].at = 0
	}
	k.expire(now)
	due := k.due(now)
	_ = k.until(now)
	k.mu.Unlock()
	k.tell()
	for _, r := range due {
		k.apply(k.ask(ctx, r))
	}
	return len(due)
}

// A tick costs the same however much is held: two calls, and no more allocations. A change that makes a
// tick dearer says so here.
func TestTickCostsTheSameWhateverIsHeld(t *testing.T) {
	for _, n := range []int{100, 1000, 20_000} {
		k := holding(t, n)
		if calls := k.tick(t.Context()); calls != 2 {
			t.Errorf("%d leases: %d calls, want Renew and Verify", n, calls)
		}
		if race.Enabled {
			continue // the detector allocates as well
		}
		if got := testing.AllocsPerRun(100, func() { k.tick(t.Context()) }); got > tickAllocations {
			t.Errorf("%d leases: %v allocations in a tick, want at most %d; if that is meant, change the number", n, got, tickAllocations)
		}
	}
}

// tickAllocations: the goroutines, contexts and channels that bound the two calls, and the slice to verify. One
// or two of them fall away where an answer is there before it is waited for.
const tickAllocations = 26

// Valid is asked for before every write of every worker.
func TestValidAllocatesNothing(t *testing.T) {
	h := holding(t, 1).holds[0]
	if got := testing.AllocsPerRun(100, func() { _ = h.Valid() }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

func BenchmarkTick(b *testing.B) {
	for _, n := range []int{100, 10_000, 100_000} {
		b.Run(fmt.Sprintf("held=%d", n), func(b *testing.B) {
			k := holding(b, n)
			b.ReportAllocs()
			for b.Loop() {
				k.tick(b.Context())
			}
		})
	}
}

func BenchmarkValid(b *testing.B) {
	h := holding(b, 1).holds[0]
	b.ReportAllocs()
	for b.Loop() {
		if !h.Valid() {
			b.Fatal("lost")
		}
	}
}

// BenchmarkGrants is what claiming and being granted costs per key.
func BenchmarkGrants(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		holding(b, 1000)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/1000, "ns/lease")
}
