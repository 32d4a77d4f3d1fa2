package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/sample/witness"
)

// job is the work of every workload: it appends to a ledger that refuses older tokens.
type job struct {
	pod    string
	ledger *witness.Client
	every  time.Duration
}

// feed is the work of one workload of the catalogue for one term.
func (j job) feed(ctx context.Context, term *runner.Term, _ string) error { return j.run(ctx, term) }

// run is one term: it reports the start, works, and reports how it ended.
func (j job) run(ctx context.Context, term *runner.Term) error {
	if err := j.report(j.about(term, witness.Started)); err != nil {
		return err
	}
	err := j.work(ctx, term)
	ended := j.about(term, witness.Stopped)
	if errors.Is(context.Cause(ctx), lease.ErrLost) || !ended.Valid {
		ended.Kind = witness.Lost
	}
	return errors.Join(err, j.report(ended))
}

// work writes until the term ends, or the drain begins.
func (j job) work(ctx context.Context, term *runner.Term) error {
	tick := time.NewTicker(j.every)
	defer tick.Stop()
	for seq := uint64(1); ; seq++ {
		at := witness.Now() // before the question, so that it proves something; see package witness
		if !term.Valid() {
			return lease.ErrLost
		}
		// Nothing protects the moment between the question and the arrival of the write, in any system.
		// The token does: the ledger refuses it once it has seen a newer one.
		err := j.ledger.Append(ctx, witness.Write{Workload: term.Key(), Token: term.Token(), Pod: j.pod, Seq: seq, At: at})
		if errors.Is(err, witness.ErrStale) {
			return err
		}
		if err != nil && ctx.Err() == nil {
			return fmt.Errorf("append to the ledger: %w", err)
		}
		select {
		case <-tick.C:
		case <-term.Draining():
			e := j.about(term, witness.Draining)
			e.Pod = j.pod
			j.ledger.Mention(e)
			return nil // nothing is in flight here
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// about makes an event of the term.
func (j job) about(term *runner.Term, kind witness.Kind) witness.Event {
	e := witness.Event{Kind: kind, Workload: term.Key(), Token: term.Token(), At: witness.Now()}
	e.Valid = term.Valid() // after the stamp was read
	return e
}

// tell reports something about the pod itself; nothing depends on whether it was heard.
func (j job) tell(kind witness.Kind) {
	_ = j.report(witness.Event{Kind: kind, At: witness.Now()}) // report has said so
}

func (j job) report(e witness.Event) error {
	e.Pod = j.pod
	err := j.ledger.Report(e)
	if err != nil {
		fmt.Fprintf(os.Stderr, "report of %s %s: %v\n", e.Kind, e.Workload, err)
	}
	return err
}
