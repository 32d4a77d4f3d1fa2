package scenario

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/runner"
)

// duel is two coordinators with one workload, which its pin moves to and fro. Each runs another one that
// stays, as any instance of a fleet does: so each has a session. Everyone plans for himself, so that a new pin
// takes effect at once: the planner of the default assigner paces its moves, a second apart, which makes no
// difference to a handover but that fewer of them fit into a round.
type duel struct {
	sides  [2]*coordinator.Coordinator[string]
	ids    [2]instance.ID
	left   chan time.Time // just before the work returned
	begun  chan time.Time // the work's first line
	stays  sync.WaitGroup // until what stays runs
	holder int
	stop   func()
}

const moving = "workload"

const patience = 60 * time.Second

var errSlow = errors.New("nothing happened for a minute")

func startDuel(ctx context.Context, p place) (*duel, error) {
	d := &duel{left: make(chan time.Time, 16), begun: make(chan time.Time, 16), ids: [2]instance.ID{"a", "b"}}
	d.stays.Add(len(d.ids))
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	var ends []func()
	d.stop = func() {
		cancel()
		running.Wait()
		for _, end := range ends {
			end()
		}
	}
	for i, id := range d.ids {
		s, end, err := p.store(ctx, nil)
		if err != nil {
			d.stop()
			return nil, err
		}
		ends = append(ends, end)
		d.sides[i], err = coordinator.New(s, d.pinned(0), d.work, coordinator.Config{
			Instance: instance.Instance{ID: id}, Settle: -1, Assigner: assigner.Rendezvous{},
		})
		if err != nil {
			d.stop()
			return nil, err
		}
		running.Go(func() { _ = d.sides[i].Run(ctx) }) // no store error ends it
	}
	_, err := d.wait(d.begun)
	if err == nil {
		d.stays.Wait()
		time.Sleep(3 * time.Second) // longer than a heartbeat: both know each other, and nothing else moves
	} else {
		d.stop()
	}
	return d, err
}

func (d *duel) pinned(to int) []coordinator.Workload[string] {
	return []coordinator.Workload[string]{
		{Key: moving, Value: moving, Pin: d.ids[to]},
		{Key: "stays-a", Pin: d.ids[0]}, {Key: "stays-b", Pin: d.ids[1]},
	}
}

// work takes a while to finish what is in flight, so that the next owner waits already.
func (d *duel) work(ctx context.Context, term *runner.Term, which string) error {
	if which != moving {
		d.stays.Done()
		return idleWork(ctx, term)
	}
	d.begun <- time.Now()
	select {
	case <-term.Draining():
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	time.Sleep(waits + rand.N(waits))
	d.left <- time.Now()
	return nil
}

func (d *duel) wait(c chan time.Time) (time.Time, error) {
	select {
	case t := <-c:
		return t, nil
	case <-time.After(patience):
		return time.Time{}, errSlow
	}
}

// handovers moves the workload n times.
func (d *duel) handovers(_ context.Context, n int) ([]float64, error) {
	var took []float64
	for range n {
		d.holder = 1 - d.holder
		for _, c := range d.sides {
			if err := c.SetWorkloads(d.pinned(d.holder)); err != nil {
				return nil, err
			}
		}
		left, err := d.wait(d.left)
		if err != nil {
			return nil, fmt.Errorf("the old work does not end: %w", err)
		}
		begun, err := d.wait(d.begun)
		if err != nil {
			return nil, fmt.Errorf("the new work does not begin: %w", err)
		}
		took = append(took, lab.Ms(begun.Sub(left)))
	}
	return took, nil
}
