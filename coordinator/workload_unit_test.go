package coordinator

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/tenure-go/tenure/instance"
)

// Every instance knows the whole catalogue: a workload that runs elsewhere costs its entry in the assigner's list and
// its value, and nothing besides.
func TestWorkloadThatIsOnlyKnownIsSmall(t *testing.T) {
	const n, most = 100_000, 104
	workloads := make([]Workload[string], n)
	for i := range workloads {
		workloads[i] = Workload[string]{Key: fmt.Sprintf("tenant-%06d", n-i), Value: "its value"}
	}
	before := heap()
	c, err := compile(workloads)
	if err != nil {
		t.Fatal(err)
	}
	each := float64(heap()-before) / n
	t.Logf("%.1f bytes per workload", each)
	if each < 16 || each > most {
		t.Errorf("a workload takes %.1f bytes, want at most %d", each, most)
	}
	runtime.KeepAlive(c)
	runtime.KeepAlive(workloads)
}

func heap() int64 {
	runtime.GC()
	runtime.GC() // the first may leave to the second what it has not swept
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

func TestCatalogueIsOrderedWhateverTheOrderGiven(t *testing.T) {
	c, err := compile([]Workload[int]{
		{Key: "c", Value: 3, Name: "third", Weight: 7}, {Key: "a", Value: 1}, {Key: "b", Value: 2, Pin: "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]int{"a": 1, "b": 2, "c": 3} {
		at := c.find(key)
		if at != want-1 || *c.item(at).value.(*int) != want || c.workloads[at].Key != key {
			t.Errorf("%s is at %d: %+v", key, at, c.item(max(at, 0)))
		}
	}
	if c.item(0).name != "" || c.item(2).name != "third" || c.workloads[1].Pin != instance.ID("x") || c.workloads[2].Weight != 7 {
		t.Errorf("%+v, %+v", c.names, c.workloads)
	}
	for _, key := range []string{"", "aa", "d"} {
		if c.find(key) >= 0 {
			t.Errorf("%q is found", key)
		}
	}
}

// Of two faults the one of the lower position is told.
func TestFirstFaultIsTold(t *testing.T) {
	for _, c := range []struct {
		workloads []Workload[int]
		want      string
	}{
		{[]Workload[int]{{Key: "b"}, {Key: "a"}, {Key: "b"}, {Key: ""}}, "workloads[2].Key"},
		{[]Workload[int]{{Key: "b"}, {Key: "a"}, {Key: ""}, {Key: "b"}}, "workloads[2].Key"},
		{[]Workload[int]{{Key: "b"}, {Key: "a"}, {Key: "a"}, {Key: "b"}}, "is the key of workloads[1]"},
	} {
		if _, err := compile(c.workloads); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want one that says %q", err, c.want)
		}
	}
}

func TestGainsSeesWhatIsNew(t *testing.T) {
	list := func(keys ...string) *catalogue {
		var w []Workload[int]
		for _, k := range keys {
			w = append(w, Workload[int]{Key: k})
		}
		c, err := compile(w)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	for _, c := range []struct {
		before, after *catalogue
		want          bool
	}{
		{list(), list(), false}, {list(), list("a"), true}, {list("a"), list(), false}, {list("a", "c"), list("a", "c"), false},
		{list("a", "c"), list("a", "b", "c"), true}, {list("a", "b", "c"), list("b"), false}, {list("b"), list("a"), true}, {list("b"), list("c"), true},
	} {
		if got := gains(c.before, c.after); got != c.want {
			t.Errorf("from %v to %v: %v", c.before.workloads, c.after.workloads, got)
		}
	}
}
