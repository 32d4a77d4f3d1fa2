package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
)

func targets() []check {
	has := []Capability{Targets}
	return []check{
		{id: "A01", name: "sets_come_back_as_they_were_written", run: a01, needs: has,
			sentence: "TargetsOf and AllTargets answer each set exactly as it was written, with the token, epoch and incarnation of the head that it was written under."},
		{id: "A02", name: "an_unknown_set_is_not_an_empty_one", run: a02, needs: has,
			sentence: "Found is false where no set is stored; an empty set is a decision and is found. A fleet without a plan has the zero head."},
		{id: "A03", name: "a_superseded_write_changes_nothing", run: a03, needs: has,
			sentence: "A write whose head is older than the stored one is refused with ErrSuperseded, and nothing of it is written."},
		{id: "A04", name: "batches_under_one_head_add_up", run: a04, needs: has,
			sentence: "An equal head is accepted, again after a lost answer too; sets that are not listed stay."},
		{id: "A05", name: "gone_deletes", run: a05, needs: has,
			sentence: "PutTargets deletes the sets of gone and no others; one that is not there is no error."},
		{id: "A06", name: "a_claim_shuts_the_predecessor_out", run: a06, needs: has,
			sentence: "From a new planner's claim on, nothing of its predecessor is written, however late it arrives; what the predecessor left can be read."},
		{id: "A07", name: "the_history_is_kept_to_the_byte", run: a07, needs: has,
			sentence: "History of up to MaxHistory bytes comes back from AllTargets as it was; an empty one leaves the stored one, and TargetsOf answers none."},
		{id: "A08", name: "all_targets_in_order", run: a08, needs: has,
			sentence: "AllTargets answers every set, however many there are, ordered by instance ID."},
		{id: "A09", name: "invalid_targets_are_refused_whole", run: a09, needs: has,
			sentence: "Arguments are checked before any I/O: one bad set refuses the write with ErrInvalid, and what was there stays."},
		{id: "A10", name: "sets_of_ten_thousand_keys", run: a10, needs: has,
			sentence: "A set holds any number of keys, in the order in which they came."},
		{id: "A11", name: "targets_belong_to_the_caller", run: a11, needs: has,
			sentence: "What is passed and returned shares no memory with the store."},
		{id: "A12", name: "a_set_says_which_incarnation_it_was_planned_in", run: a12, needs: []Capability{Targets, CanWipe, Sessions},
			sentence: "A set carries the incarnation of its own head, so that what was planned before a loss of data can be told from what was planned after it."},
		{id: "A13", name: "each_batch_is_whole_and_heads_only_rise", run: a13, needs: has,
			sentence: "Each batch is written as a whole or not at all, and of planners that write at once the newest wins."},
		{id: "A14", name: "written_at_is_the_stores_time", run: a14, needs: has,
			sentence: "WrittenAt is the store's clock at the write, by the clock that grants leases, whatever the writer says."},
		{id: "A15", name: "targets_survive_a_restart", run: a15, needs: []Capability{Targets, CanKill}, slow: true,
			sentence: "The head and the sets survive a restart of the store, as what living sessions hold does."},
	}
}

func a01(e *env) {
	head := assigner.Head{Token: math.MaxInt64 - 1, Epoch: 1<<53 + 1, Planner: e.owner(), Digest: math.MaxUint64, Incarnation: 1<<62 + 1}
	odd := oddNames() // also a key's, and in an order that is no database's
	slices.Sort(odd)
	for i, id := range odd {
		head.Epoch++
		written := assigner.Set{Instance: instance.ID(id), Keys: odd[:i+1], Token: 1, Epoch: 2, Incarnation: 3}
		e.putTargets(e.a, head, []assigner.Set{written})
	}
	got, all := e.allTargets(e.b)
	e.that(len(all) == len(odd), "of %d sets AllTargets answers %d", len(odd), len(all))
	e.sameHead(got, head)
	for i, id := range odd {
		under := head
		under.Epoch -= uint64(len(odd) - 1 - i)
		e.target(e.b, under, instance.ID(id), odd[:i+1]...)
		e.sameSet(all[i], under, instance.ID(id), odd[:i+1])
	}
	got, _ = e.targetsOf(e.a, "none")
	e.sameHead(got, head)
}

func a02(e *env) {
	e.each(func(s Store) {
		head, all := e.allTargets(s)
		e.that(len(all) == 0 && len(head.History) == 0, "a fleet without a plan has %d sets and a history of %d bytes", len(all), len(head.History))
		e.sameHead(head, assigner.Head{})
		e.that(head.WrittenAt.IsZero(), "the head of a fleet without a plan was written at %v", head.WrittenAt)
		e.untargeted(s, "idle")
	})
	head := e.head(7, 1)
	e.putTargets(e.a, head, []assigner.Set{{Instance: "idle"}, {Instance: "idler", Keys: []string{}}})
	e.each(func(s Store) {
		e.target(s, head, "idle")
		e.target(s, head, "idler")
		e.untargeted(s, "unknown")
	})
	_, all := e.allTargets(e.b)
	e.that(len(all) == 2, "of two empty sets AllTargets answers %d", len(all))
}

func a03(e *env) {
	stored := e.head(20, 5)
	stored.History = []byte("stored")
	e.putTargets(e.a, stored, []assigner.Set{{Instance: "x", Keys: []string{"k"}}, {Instance: "y"}})
	for _, late := range []assigner.Head{e.head(20, 4), e.head(19, 5), e.head(19, 6), e.head(3, math.MaxInt64), e.head(9, 9), e.head(20, 0)} {
		late.History = []byte("late")
		e.superseded(e.b, late, nil)
		e.superseded(e.b, late, []assigner.Set{{Instance: "x", Keys: []string{"other"}}, {Instance: "z"}}, "y")
		e.superseded(e.a, late, nil, "x")
		head, all := e.allTargets(e.a)
		e.sameHead(head, stored)
		e.that(string(head.History) == "stored", "a superseded write left the history %q", head.History)
		e.that(len(all) == 2, "a superseded write left %d sets, want the 2 of before", len(all))
		e.target(e.b, stored, "x", "k")
		e.target(e.b, stored, "y")
	}
	next := e.head(20, 100) // the numbers count, not their digits
	e.putTargets(e.b, next, []assigner.Set{{Instance: "x"}})
	next = e.head(100, 1)
	e.putTargets(e.a, next, []assigner.Set{{Instance: "x", Keys: []string{"newest"}}})
	e.target(e.b, next, "x", "newest")
	e.target(e.b, stored, "y")
}

func a04(e *env) {
	head := e.head(7, 1)
	for range 2 {
		e.putTargets(e.a, head, []assigner.Set{{Instance: "x", Keys: []string{"1"}}})
		e.putTargets(e.b, head, []assigner.Set{{Instance: "y", Keys: []string{"2"}}, {Instance: "z", Keys: []string{"3"}}})
		e.putTargets(e.a, head, nil)
	}
	e.each(func(s Store) {
		e.target(s, head, "x", "1")
		e.target(s, head, "y", "2")
		e.target(s, head, "z", "3")
	})
	next := e.head(7, 2)
	e.putTargets(e.b, next, []assigner.Set{{Instance: "y", Keys: []string{"2", "3"}}}, "z")
	e.target(e.a, head, "x", "1")
	e.target(e.a, next, "y", "2", "3")
	e.untargeted(e.a, "z")
}

func a05(e *env) {
	head := e.head(7, 1)
	e.putTargets(e.a, head, []assigner.Set{{Instance: "stays"}, {Instance: "goes", Keys: []string{"k"}}, {Instance: "goes too"}})
	for range 2 {
		e.putTargets(e.b, head, nil, "goes", "goes too", "never was")
		e.untargeted(e.a, "goes")
		e.untargeted(e.a, "goes too")
		e.target(e.a, head, "stays")
	}
	_, all := e.allTargets(e.b)
	e.that(len(all) == 1, "of 3 sets 2 were deleted, and AllTargets answers %d", len(all))
	e.putTargets(e.b, head, []assigner.Set{{Instance: "goes", Keys: []string{"back"}}})
	e.target(e.a, head, "goes", "back")
}

func a07(e *env) {
	head := e.head(7, 1)
	for _, n := range []int{1, 300, 100_000, assigner.MaxHistory} {
		head.Epoch++
		head.History = make([]byte, n)
		for i := range head.History { // every byte there is
			head.History[i] = byte(i)
		}
		e.putTargets(e.a, head, nil)
		for range 2 {
			got, _ := e.allTargets(e.b)
			e.that(bytes.Equal(got.History, head.History), "a history of %d bytes came back with %d bytes, or other ones", n, len(got.History))
			brief, _ := e.targetsOf(e.b, "x")
			e.that(len(brief.History) == 0, "TargetsOf answers a history of %d bytes; want none, as every instance asks it all the time", len(brief.History))
			next := head
			next.Epoch++
			next.History, next.Digest = nil, 0
			e.putTargets(e.a, next, []assigner.Set{{Instance: "x"}}) // leaves the history
			got, _ = e.allTargets(e.a)
			e.that(got.Epoch == next.Epoch && got.Digest == head.Digest, "a write without a digest left %+v, want the stored digest %v", got, head.Digest)
			head.Epoch++
		}
	}
}

func a08(e *env) {
	const n = 620 // more than one batch
	sets := make([]assigner.Set, n)
	for i := range sets {
		sets[i] = assigner.Set{Instance: instance.ID(fmt.Sprintf("%s-%d", []string{"a", "B", "é", "_", "c d"}[i%5], i)), Keys: []string{"k", fmt.Sprint("k", i)}}
	}
	head := e.head(7, 1)
	for part, gone := range assigner.Batches(sets, nil) {
		e.putTargets(e.a, head, part, gone...)
	}
	slices.SortFunc(sets, func(a, b assigner.Set) int { return strings.Compare(string(a.Instance), string(b.Instance)) })
	e.each(func(s Store) {
		_, all := e.allTargets(s)
		e.that(len(all) == n, "of %d sets AllTargets answers %d", n, len(all))
		for i := range all {
			e.that(all[i].Instance == sets[i].Instance, "set %d is of %q, want %q: ordered by ID, byte by byte", i, all[i].Instance, sets[i].Instance)
			e.sameSet(all[i], head, sets[i].Instance, sets[i].Keys)
		}
	})
}

func a09(e *env) {
	stored := e.head(7, 1)
	e.putTargets(e.a, stored, []assigner.Set{{Instance: "x", Keys: []string{"k"}}})
	good := assigner.Set{Instance: "x", Keys: []string{"other"}}
	nobody, long := e.head(8, 1), e.head(8, 1)
	nobody.Planner = ""
	long.History = make([]byte, assigner.MaxHistory+1)
	crowd := make([]instance.ID, assigner.MaxBatch)
	for i := range crowd {
		crowd[i] = instance.ID(fmt.Sprint("gone-", i))
	}
	var thaw func()
	if e.has(CanFreeze) { // what needs no I/O needs no server either
		thaw = e.cfg.Faults.Freeze(e.t, e.a)
	}
	for what, bad := range map[string]struct {
		head assigner.Head
		sets []assigner.Set
		gone []instance.ID
	}{
		"no token":                    {e.head(0, 1), []assigner.Set{good}, nil},
		"no planner":                  {nobody, []assigner.Set{good}, nil},
		"a history that is too long":  {long, []assigner.Set{good}, nil},
		"an instance without an ID":   {e.head(8, 1), []assigner.Set{good, {Instance: ""}}, nil},
		"an empty key":                {e.head(8, 1), []assigner.Set{good, {Instance: "y", Keys: []string{"k", ""}}}, nil},
		"a key with NUL":              {e.head(8, 1), []assigner.Set{{Instance: "y", Keys: []string{"a\x00"}}, good}, nil},
		"a key of 513 bytes":          {e.head(8, 1), []assigner.Set{{Instance: "y", Keys: []string{strings.Repeat("k", 513)}}, good}, nil},
		"an instance listed twice":    {e.head(8, 1), []assigner.Set{good, good}, nil},
		"an instance that is gone":    {e.head(8, 1), []assigner.Set{good}, []instance.ID{"x"}},
		"more than MaxBatch at once":  {e.head(8, 1), []assigner.Set{good}, crowd},
		"a gone instance without ID":  {e.head(8, 1), []assigner.Set{good}, []instance.ID{""}},
		"an ID that is not in UTF-8 ": {e.head(8, 1), nil, []instance.ID{"x", "\xff"}},
	} {
		ctx, cancel := e.within(2 * e.unit)
		err := put(ctx, e.a, bad.head, bad.sets, bad.gone...)
		cancel()
		e.that(errors.Is(err, assigner.ErrInvalid), "PutTargets with %s answered %v, want ErrInvalid before any I/O", what, err)
	}
	_, _, err := e.a.(assigner.Targets).TargetsOf(e.ctx, "a\x00")
	e.that(errors.Is(err, assigner.ErrInvalid), "TargetsOf of a bad ID answered %v, want ErrInvalid", err)
	if thaw != nil {
		thaw()
	}
	head, all := e.allTargets(e.b)
	e.sameHead(head, stored)
	e.that(len(all) == 1, "a refused write left %d sets, want the one of before", len(all))
	e.target(e.b, stored, "x", "k")
}

func a10(e *env) {
	keys := makeKeys(strings.Repeat("long-", 8)+"workload", 10_000)
	back := slices.Clone(keys)
	slices.Reverse(back)
	head := e.head(7, 1)
	e.putTargets(e.a, head, []assigner.Set{{Instance: "x", Keys: keys}, {Instance: "y", Keys: back}, {Instance: "z", Keys: keys[:1]}})
	e.target(e.b, head, "x", keys...)
	e.target(e.b, head, "y", back...)
	_, all := e.allTargets(e.a)
	e.that(len(all) == 3 && slices.Equal(all[0].Keys, keys) && slices.Equal(all[1].Keys, back), "AllTargets mixes up sets of %d keys", len(keys))
}

func a11(e *env) {
	head := e.head(7, 1)
	head.History = []byte("kept")
	keys := []string{"a", "b"}
	e.putTargets(e.a, head, []assigner.Set{{Instance: "x", Keys: keys}})
	keys[0], head.History[0] = "spoilt", 'X'
	for range 2 {
		e.target(e.a, head, "x", "a", "b")
		got, all := e.allTargets(e.a)
		_, one := e.targetsOf(e.a, "x")
		e.that(string(got.History) == "kept" && all[0].Keys[0] == "a" && one.Keys[0] == "a", "the store changed with a slice that was handed in or out: %q, %q, %q", got.History, all[0].Keys, one.Keys)
		got.History[0], all[0].Keys[0], one.Keys[0] = 'X', "spoilt", "spoilt"
	}
}
