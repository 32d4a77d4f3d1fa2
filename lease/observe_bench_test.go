package lease

import (
	"testing"

	"github.com/tenure-go/tenure/instance"
)

// nobody is a keeper whose observers and logger are absent, as everybody's is who did not ask for them.
func nobody(tb testing.TB) *Keeper {
	tb.Helper()
	k, err := NewKeeper(struct{ Manager }{}, instance.New(), KeeperConfig{Observers: []any{"not an observer"}})
	if err != nil {
		tb.Fatal(err)
	}
	k.session = &session{open: true}
	return k
}

// tellNobody tells of everything that a keeper has to tell.
func tellNobody(k *Keeper) {
	k.noteRenew(answer{request: request{op: "Renew", session: k.session}}, 1)
	k.emitRenew(RenewEvent{Owner: k.owner})
	k.emitTerm(TermEvent{Kind: TermGranted, Lease: Lease{Key: "k", Owner: k.owner}})
	k.emitCall(CallEvent{Op: "Renew"})
}

func TestAbsentObserversCostNoMemory(t *testing.T) {
	k := nobody(t)
	if n := testing.AllocsPerRun(1000, func() { tellNobody(k) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// BenchmarkAbsentObservers is the price of one event of each kind where nobody listens.
func BenchmarkAbsentObservers(b *testing.B) {
	k := nobody(b)
	b.ReportAllocs()
	for b.Loop() {
		tellNobody(k)
	}
}
