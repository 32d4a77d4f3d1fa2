package assigner_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/internal/long"
)

// large is a fleet of 100 000 workloads, in no particular order, and 1 000 instances.
func large() assigner.Input {
	const n, m = 100_000, 1_000
	in := assigner.Input{Workloads: make([]assigner.Workload, n), Instances: make([]assigner.Instance, m)}
	for i := range n {
		shuffled := i * 7919 % n
		in.Workloads[i] = assigner.Workload{Key: fmt.Sprintf("workload-%06d", shuffled), Weight: 1 + int(assigner.Hash(fmt.Sprint(i))%100)}
	}
	for i := range m {
		in.Instances[i].ID = instanceID(fmt.Sprintf("pod-%016x", assigner.Hash(fmt.Sprint(i))))
	}
	return in
}

func mustIndex(b *testing.B, in assigner.Input) *assigner.Index {
	b.Helper()
	x, err := assigner.NewIndex(in)
	if err != nil {
		b.Fatal(err)
	}
	return x
}

var contenders = []struct {
	name string
	a    assigner.Indexed
}{
	{"Sticky", assigner.Sticky{}},
	{"Weighted", assigner.Weighted{}},
	{"Rendezvous", assigner.Rendezvous{}},
	{"RendezvousCap110", assigner.Rendezvous{CapPercent: 110}},
	{"Partition", assigner.Partition{}},
	{"Balanced", assigner.Balanced{}},
	{"Primary", assigner.Primary{}},
}

// TestMemoryOfALargeFleet bounds all that a cold plan allocates, garbage included.
func TestMemoryOfALargeFleet(t *testing.T) {
	if !long.Tests() {
		t.Skip("a fleet of 1 000 with 100 000 workloads: set TENURE_LONG=1")
	}
	const most = 64 << 20
	for _, c := range contenders {
		if strings.HasPrefix(c.name, "Rendezvous") {
			continue // a hundred million scores, and nothing else: the others bound it
		}
		in := large()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		mustPlan(t, c.a, in)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; used > most {
			t.Errorf("%s allocates %d MB, want at most %d", c.name, used>>20, most>>20)
		} else {
			t.Logf("%s: %d MB", c.name, used>>20)
		}
	}
}

// BenchmarkCold plans a fleet without owners, from strings and maps.
func BenchmarkCold(b *testing.B) {
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			in := large()
			b.ReportAllocs()
			for b.Loop() {
				mustPlan(b, c.a, in)
			}
		})
	}
}

// BenchmarkJoin plans one join into a settled fleet, from strings and maps.
func BenchmarkJoin(b *testing.B) {
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			in := large()
			in.Owners = mustPlan(b, c.a, in).Owners()
			in.Instances = append(in.Instances, assigner.Instance{ID: "pod-joiner"})
			b.ReportAllocs()
			for b.Loop() {
				mustPlan(b, c.a, in)
			}
		})
	}
}

// BenchmarkSelectors plans a leave of ten instances where twenty different selectors overlap.
func BenchmarkSelectors(b *testing.B) {
	in := large()
	for i := range in.Instances {
		in.Instances[i].Labels = map[string]string{}
		for bit := range 5 {
			if assigner.Hash(string(in.Instances[i].ID))>>bit&1 == 1 {
				in.Instances[i].Labels[fmt.Sprint("l", bit)] = ""
			}
		}
	}
	for i := range in.Workloads {
		if s := i % 21; s > 0 {
			in.Workloads[i].Requires = assigner.Selector(fmt.Sprintf("l%d,!l%d", s%5, (s%5+1+s/5%4)%5))
		}
	}
	in.Owners = mustPlan(b, assigner.Sticky{}, in).Owners()
	in.Instances = in.Instances[10:]
	b.ReportAllocs()
	for b.Loop() {
		mustPlan(b, assigner.Sticky{}, in)
	}
}

// BenchmarkIndexedJoin plans a join and a leave in turn, from an Index: one operation is one change.
func BenchmarkIndexedJoin(b *testing.B) {
	for _, c := range contenders {
		b.Run(c.name, func(b *testing.B) {
			in := large()
			x := mustIndex(b, in)
			change := func(list []assigner.Instance) {
				if err := x.SetInstances(list); err != nil {
					b.Fatal(err)
				}
				p, err := c.a.PlanIndex(x)
				if err != nil {
					b.Fatal(err)
				}
				x.Adopt(p)
			}
			change(in.Instances)
			joined := append(in.Instances, assigner.Instance{ID: "pod-joiner"})
			b.ReportAllocs()
			for turn := 0; b.Loop(); turn++ {
				if turn%2 == 0 {
					change(joined)
				} else {
					change(in.Instances)
				}
			}
		})
	}
}
