package main

import (
	"testing"
	"time"

	"github.com/tenure-go/tenure/sample/witness"
)

// With -fail-fast a run ends at the first double owner, long before its time.
func TestFailFast(t *testing.T) {
	r := newTestRun(t, "-fail-fast", "-for", "1h", "-workloads", "1")
	key := r.options.catalogue[0]
	for token, pod := range []string{"one", "two"} { // the second starts, and the first still writes
		e := witness.Event{Kind: witness.Started, Pod: pod, Workload: key, Token: uint64(token + 1), At: witness.Now(), Valid: true}
		if err := r.witness.Record(e); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.witness.Append(witness.Write{Pod: "one", Workload: key, Token: 1, At: witness.Now()}); err == nil {
		t.Fatal("a stale write was accepted")
	}
	done := make(chan error, 1)
	go func() { done <- r.act(nil) }()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(time.Minute):
		t.Error("the run goes on")
	}
	r.screen.close()
	if status := r.verdict(nil, nil, nil); status != exitBad {
		t.Errorf("status %d", status)
	}
}
