package assigner_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/tenure-go/tenure/assigner"
)

// dice turns bytes into choices; when they are used up, every choice is 0.
type dice []byte

func (d *dice) n(most int) int {
	if len(*d) == 0 {
		return 0
	}
	b := int((*d)[0])
	*d = (*d)[1:]
	return b % most
}

// inputOf builds any input at all out of bytes, valid or not.
func inputOf(d *dice) assigner.Input {
	in := assigner.Input{Owners: map[string]instanceID{}, InFlight: map[string]instanceID{}}
	for range d.n(9) {
		in.Instances = append(in.Instances, assigner.Instance{
			ID:       instanceID([]string{"a", "b", "c", "d", "e", "f", "g", "\xff", ""}[d.n(9)]),
			JoinedAt: time.Unix(int64(d.n(4)), 0),
			Capacity: []int{0, 1, 2, 3, 1_000_000, -1}[d.n(6)],
			Zone:     []string{"", "east", "west"}[d.n(3)],
			Version:  []string{"", "", "", "2"}[d.n(4)],
			Phase:    []assigner.Phase{"", "", assigner.Draining, assigner.Joining, assigner.Suspect, assigner.Suppressed, "x"}[d.n(7)],
			Labels:   []map[string]string{nil, {"gpu": ""}, {"disk": "ssd"}}[d.n(3)],
		})
	}
	for range d.n(30) {
		key := []string{"", "k", "key-"}[1+d.n(2)] + fmt.Sprint(d.n(40))
		in.Workloads = append(in.Workloads, assigner.Workload{
			Key:      key,
			Weight:   []int{0, 1, 5, 1_000_000, -1}[d.n(5)],
			Group:    []string{"", "red", "blue"}[d.n(3)],
			Pin:      instanceID([]string{"", "", "", "a", "zz"}[d.n(5)]),
			Requires: []assigner.Selector{"", "", "gpu", "!gpu", "disk in (ssd)", "("}[d.n(6)],
		})
		in.Owners[key] = instanceID([]string{"", "a", "b", "c", "zz"}[d.n(5)])
		in.InFlight[key] = instanceID([]string{"", "", "", "b", "zz"}[d.n(5)])
	}
	in.Policy = assigner.Policy{
		Hold:           []string{"", "", "", "wait"}[d.n(4)],
		Freeze:         []string{"", "", "wait"}[d.n(3)],
		AcrossVersions: d.n(2) == 1,
		Budget:         []int{0, 0, 1, 2, -1}[d.n(5)],
		CoolDown:       []string{"k1", "key-2"}[:d.n(3)],
	}
	return in
}

// FuzzPlan asks every assigner about any input. It must refuse it, or answer with a sound plan, the
// same for any order of the input, without changing it.
func FuzzPlan(f *testing.F) {
	for seed := range uint64(40) {
		bytes := make([]byte, 300)
		for i := range bytes {
			bytes[i] = byte(assigner.Score(seed, uint64(i)))
		}
		f.Add(bytes)
	}
	f.Fuzz(func(t *testing.T, bytes []byte) {
		d, again := dice(bytes), dice(bytes)
		in, same := inputOf(&d), inputOf(&again)
		for _, a := range []assigner.Assigner{
			assigner.Sticky{}, assigner.Weighted{}, assigner.Rendezvous{}, assigner.Rendezvous{CapPercent: 100},
			assigner.Partition{Count: 5}, assigner.Balanced{}, assigner.Primary{}, assigner.Primary{Rollout: true},
		} {
			p, err := a.Plan(in)
			if err != nil {
				if p.Targets != nil {
					t.Fatalf("%T: a plan beside the error %v", a, err)
				}
				continue
			}
			if err := assigner.Verify(in, p); err != nil {
				t.Fatalf("%T: %v", a, err)
			}
			if !reflect.DeepEqual(in, same) {
				t.Fatalf("%T changed its input", a)
			}
			for i, j := 0, len(in.Workloads)-1; i < j; i, j = i+1, j-1 {
				in.Workloads[i], in.Workloads[j] = in.Workloads[j], in.Workloads[i]
			}
			q, err := a.Plan(in)
			if err != nil || !reflect.DeepEqual(p, q) {
				t.Fatalf("%T: another order gives another plan: %v", a, err)
			}
			same.Workloads = append([]assigner.Workload(nil), in.Workloads...)
		}
	})
}
