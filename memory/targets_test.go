package memory_test

import (
	"testing"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
)

// Storetest says what targets mean; here is what only this store shows.
func TestTargetsAreCopies(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		head := assigner.Head{Token: 7, Epoch: 1, Planner: "p", History: []byte("then")}
		keys := []string{"a", "b"}
		e.ok(e.PutTargets(e.ctx, head, []assigner.Set{{Instance: "x", Keys: keys}}, nil))
		before := e.Snapshot()
		keys[0], head.History[0] = "spoilt", 'X'
		for range 2 { // the second look sees whether the first one's answer was shared
			h, sets, err := e.AllTargets(e.ctx)
			e.ok(err)
			equal(e, "the history", string(h.History), "then")
			equal(e, "the first key", sets[0].Keys[0], "a")
			_, one, err := e.TargetsOf(e.ctx, "x")
			e.ok(err)
			equal(e, "the first key", one.Keys[0], "a")
			h.History[0], sets[0].Keys[0], one.Keys[0] = 'X', "spoilt", "spoilt"
		}

		head.Token++
		e.ok(e.PutTargets(e.ctx, head, []assigner.Set{{Instance: "y"}}, []instance.ID{"x"}))
		e.Restore(before)
		h, sets, err := e.AllTargets(e.ctx)
		e.ok(err)
		equal(e, "the token after the restart", h.Token, 7)
		equal(e, "the sets after the restart", len(sets), 1)
		e.Restore(nil)
		h, sets, err = e.AllTargets(e.ctx)
		e.ok(err)
		equal(e, "the token after the loss", h.Token, 0)
		equal(e, "the sets after the loss", len(sets), 0)
	})
}
