package tenuretest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// held is a lease that is valid for as long as it says.
type held struct {
	lease lease.Lease
	valid bool
}

func (h *held) Lease() lease.Lease          { return h.lease }
func (h *held) Valid() bool                 { return h.valid }
func (h *held) Left() time.Duration         { return 0 }
func (h *held) Check(context.Context) error { return nil }

// reports collects the failures of a witness.
type reports struct {
	testing.TB
	all []string
}

func (r *reports) Errorf(format string, args ...any) {
	r.all = append(r.all, fmt.Sprintf(format, args...))
}

func TestWitness(t *testing.T) {
	var r *reports
	var w *witness
	begin := func(id instance.ID, token uint64) (*held, *shift) {
		h := &held{lease.Lease{Key: "k", Owner: id, Token: token}, true}
		return h, w.enter(t.Context(), id, runner.NewTerm(h, nil))
	}
	for name, c := range map[string]struct {
		test func()
		want string // empty: no failure
	}{
		"one after the other": {func() { _, s := begin("a", 1); w.exit(s, nil); begin("b", 2) }, ""},
		"two at once":         {func() { begin("a", 1); begin("b", 2) }, `two workers of "k": b begins (token 2) while the one on a (token 1`},
		"one not told":        {func() { h, _ := begin("a", 1); h.valid = false; begin("b", 2) }, "was not told that its term is over"},
		"the same token":      {func() { _, s := begin("a", 5); w.exit(s, nil); begin("b", 5) }, `the token of "k" fell: b begins with 5 after 5 was seen`},
		"an older token":      {func() { _, s := begin("a", 5); w.exit(s, nil); begin("b", 4) }, "begins with 4 after 5"},
		"beside a dead one":   {func() { begin("a", 1); w.bury("a"); begin("b", 2) }, ""},
		"beside one whose term ran out in a pause": {func() {
			h, _ := begin("a", 1)
			w.pause("a", true)
			h.valid = false
			begin("b", 2)
		}, ""},
		"beside one that was paused and does not know yet": {func() {
			h, _ := begin("a", 1)
			w.pause("a", true)
			h.valid = false
			w.pause("a", false)
			begin("b", 2)
		}, ""},
		"beside one that is paused and valid": {func() { begin("a", 1); w.pause("a", true); begin("b", 2) }, "holds a valid term"},
		"after a pause that cost nothing": {func() {
			begin("a", 1)
			w.pause("a", true)
			w.pause("a", false)
			begin("b", 2)
		}, "two workers"},
		"an older token beside a dead one": {func() { begin("a", 5); w.bury("a"); begin("b", 4) }, "fell"},
	} {
		r = &reports{TB: t}
		w = newWitness(r)
		c.test()
		switch got := strings.Join(r.all, "\n"); {
		case c.want == "" && got != "":
			t.Errorf("%s: %s", name, got)
		case !strings.Contains(got, c.want):
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
