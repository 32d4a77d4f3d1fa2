package assigner

import (
	"fmt"

	"github.com/tenure-go/tenure/instance"
)

// Verify returns an error that says what is wrong with a plan for an input, or nil: every workload
// is in it once, placed or unplaceable, in the order of keys; none is on an instance that is not
// in the input, is draining, or lacks a required label; Moves, Quotas and Digest agree with the
// targets and the input. It is for tests of assigners of your own. It does not judge balance.
func Verify(in Input, p Plan) error {
	x, err := NewIndex(in)
	if err != nil {
		return err
	}
	place, err := x.placesOf(p)
	if err != nil {
		return err
	}
	want := x.finish(x.positions(), outcome{place: place})
	if err := verifyMoves(want.Moves, p.Moves); err != nil {
		return err
	}
	if len(want.Quotas) != len(p.Quotas) {
		return fmt.Errorf("assigner: plan has %d quotas for %d instances", len(p.Quotas), len(want.Quotas))
	}
	for i, q := range want.Quotas {
		if got := p.Quotas[i]; got.Instance != q.Instance || got.Count != q.Count || got.Weight != q.Weight {
			return fmt.Errorf("assigner: quota %+v does not agree with the targets: %d workloads of weight %d on %s", got, q.Count, q.Weight, q.Instance)
		}
	}
	if p.Digest != want.Digest {
		return fmt.Errorf("assigner: digest %v is not that of the input, %v", p.Digest, want.Digest)
	}
	return nil
}

// placesOf reads targets and unplaceable workloads side by side, as a merge.
func (x *Index) placesOf(p Plan) ([]int32, error) {
	place := make([]int32, len(x.key))
	targets, unplaced := p.Targets, p.Unplaceable
	for w := range x.key {
		key := x.key[w]
		switch {
		case len(targets) > 0 && targets[0].Key == key && len(unplaced) > 0 && unplaced[0].Key == key:
			return nil, fmt.Errorf("assigner: workload %q is both placed and unplaceable", key)
		case len(targets) > 0 && targets[0].Key == key:
			i, err := x.placeOf(int32(w), targets[0].Instance)
			if err != nil {
				return nil, err
			}
			place[w], targets = i, targets[1:]
		case len(unplaced) > 0 && unplaced[0].Key == key:
			if unplaced[0].Why == "" {
				return nil, fmt.Errorf("assigner: workload %q is unplaceable without a reason", key)
			}
			place[w], unplaced = none, unplaced[1:]
		default:
			return nil, fmt.Errorf("assigner: workload %q is missing or out of order", key)
		}
	}
	if len(targets) > 0 {
		return nil, fmt.Errorf("assigner: target for %q is of no workload, doubled or out of order", targets[0].Key)
	}
	if len(unplaced) > 0 {
		return nil, fmt.Errorf("assigner: unplaceable %q is no workload, doubled or out of order", unplaced[0].Key)
	}
	return place, nil
}

func (x *Index) placeOf(w int32, id instance.ID) (int32, error) {
	name, known := x.nameOf[id]
	if !known || x.instOf[name] == none {
		return none, fmt.Errorf("assigner: workload %q is on %q, which is not in the input", x.key[w], id)
	}
	i := x.instOf[name]
	if !x.mayRun(w, i) {
		return none, fmt.Errorf("assigner: workload %q may not run on %q: it is draining or lacks a label", x.key[w], id)
	}
	return i, nil
}

// verifyMoves compares all but the reasons, which an assigner may know better.
func verifyMoves(want, got []Move) error {
	if len(want) != len(got) {
		return fmt.Errorf("assigner: plan lists %d moves, its targets need %d", len(got), len(want))
	}
	for n, m := range want {
		g := got[n]
		if g.Key != m.Key || g.From != m.From || g.To != m.To {
			return fmt.Errorf("assigner: plan lists the move of %q from %q to %q, its targets need %q from %q to %q", g.Key, g.From, g.To, m.Key, m.From, m.To)
		}
		if g.Reason == "" {
			return fmt.Errorf("assigner: the move of %q has no reason", g.Key)
		}
	}
	return nil
}
