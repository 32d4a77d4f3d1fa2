package memory_test

import (
	"slices"
	"testing"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/status"
)

func (e env) put(owner instance.ID, records ...status.Record) {
	e.Helper()
	e.ok(e.PutStatus(e.ctx, owner, ttl, records))
}

func (e env) statuses(want ...status.Record) {
	e.Helper()
	all, err := e.AllStatuses(e.ctx)
	e.ok(err)
	if !slices.Equal(all, want) {
		e.Fatalf("statuses are %+v, want %+v", all, want)
	}
}

func rec(key string, token uint64, state status.State) status.Record {
	return status.Record{Key: key, Name: "name of " + key, State: state, Token: token, Info: "why"}
}

// stored is the record as it is read back.
func stored(r status.Record, owner instance.ID, since time.Time, left time.Duration) status.Record {
	r.Owner, r.Since, r.TTLLeft = owner, since.UTC(), left
	return r
}

func TestStatusIsReadBack(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		start := time.Now().Round(0)
		x, y := rec("x", 1, status.Active), rec("y", 2, status.Transferring)
		x.Owner = "somebody else" // set to the writer
		e.put("a", y, x)
		time.Sleep(time.Second)
		e.statuses(stored(x, "a", start, ttl-time.Second), stored(y, "a", start, ttl-time.Second))
		some, err := e.Statuses(e.ctx, []string{"y", "absent", "y"})
		e.ok(err)
		if !slices.Equal(some, []status.Record{stored(y, "a", start, ttl-time.Second)}) {
			e.Fatalf("statuses are %+v", some)
		}
		x.Info = "still"
		e.put("a", x) // same term, same state: since stays
		e.statuses(stored(x, "a", start, ttl), stored(y, "a", start, ttl))
		x.State = status.Inactive
		e.put("a", x)
		e.statuses(stored(x, "a", start.Add(time.Second), ttl), stored(y, "a", start, ttl))
	})
}

func TestStatusTokenGuard(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		start := time.Now().Round(0)
		e.put("a", rec("k", 5, status.Active))
		e.put("b", rec("k", 4, status.Active), rec("k", 5, status.Inactive))
		e.statuses(stored(rec("k", 5, status.Active), "a", start, ttl))
		e.put("a", rec("k", 5, status.Inactive))
		e.statuses(stored(rec("k", 5, status.Inactive), "a", start, ttl))
		e.put("b", rec("k", 6, status.Active))
		e.put("a", rec("k", 5, status.Active), rec("other", 1, status.Active)) // each record on its own
		e.statuses(stored(rec("k", 6, status.Active), "b", start, ttl), stored(rec("other", 1, status.Active), "a", start, ttl))
	})
}

func TestStatusesLiveWithTheirOwner(t *testing.T) {
	bubble(t, memory.Config{}, func(e env) {
		start := time.Now().Round(0)
		x, y := rec("x", 1, status.Active), rec("y", 9, status.Active)
		e.put("a", x)
		e.put("b", y)
		for range 5 {
			time.Sleep(ttl / 2)
			e.put("a") // empty: only extends
		}
		e.statuses(stored(x, "a", start, ttl))
		// b's record is over: an older token may take its place, and b coming back revives nothing.
		y.Token = 1
		e.put("a", y)
		e.put("b")
		e.statuses(stored(x, "a", start, ttl), stored(y, "a", time.Now().Round(0), ttl))
		time.Sleep(ttl - time.Nanosecond)
		e.statuses(stored(x, "a", start, 1), stored(y, "a", start.Add(5*ttl/2), 1))
		time.Sleep(time.Nanosecond)
		e.statuses()
		e.put("a")
		e.statuses()
		e.put("a", x)
		e.statuses(stored(x, "a", time.Now().Round(0), ttl)) // a new first time
	})
}

func TestStatusesExpireUnswept(t *testing.T) {
	bubble(t, memory.Config{MaxTTL: 24 * time.Hour}, func(e env) {
		e.put("a", rec("k", 1, status.Active))
		time.Sleep(ttl) // far before the first sweep
		e.statuses()
		e.put("a")
		e.statuses()
		e.put("b", rec("k", 9, status.Active))
		time.Sleep(ttl)
		r := rec("k", 1, status.Active)
		e.put("a", r) // an expired record guards nothing
		e.statuses(stored(r, "a", time.Now().Round(0), ttl))
	})
}
