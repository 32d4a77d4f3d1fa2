package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/tenure-go/tenure/sample/witness"
)

// chaos does to a fleet at random what happens to fleets.
type chaos struct {
	fleet *fleet
	wipe  func(context.Context) error // nil: the store does not lose data
	rand  *rand.Rand
	pods  int // how many there should be
	ttl   time.Duration
	notes io.Writer
}

// run goes on until ctx ends, and lets paused pods go on then. Pods that it ends are replaced a
// little later, and at least one pod is always active.
func (c *chaos) run(ctx context.Context) {
	defer func() {
		for _, name := range c.fleet.Stopped() {
			c.note("resume "+name, c.fleet.Resume(name))
		}
	}()
	for c.wait(ctx, 500*time.Millisecond, 2*time.Second) {
		active := c.fleet.Active()
		switch n := c.rand.IntN(20); {
		case len(active) < 2 || len(active) < c.pods && n < 10:
			c.add()
		case n < 6:
			name := c.pick(active)
			c.note("kill "+name, c.fleet.Kill(name))
		case n < 10:
			c.fleet.Drain(c.pick(active))
		case n < 15:
			if len(c.fleet.Stopped()) == 0 {
				c.pause(ctx, c.pick(active))
			}
		case n < 17:
			if len(active) < c.pods+2 {
				c.add()
			}
		case c.wipe != nil:
			at := witness.Now()
			if err := c.wipe(ctx); err != nil {
				c.note("wipe", err)
				continue
			}
			c.fleet.record(witness.Event{Kind: witness.Wiped, At: at})
		}
	}
}

func (c *chaos) add() {
	_, err := c.fleet.Add(firstVersion)
	c.note("add", err)
}

// pause stops a pod for up to two and a half lease TTLs: long enough to lose everything, or short
// enough to lose nothing.
func (c *chaos) pause(ctx context.Context, name string) {
	d := time.Duration(c.rand.Float64() * 2.5 * float64(c.ttl))
	c.note("pause "+name, c.fleet.Pause(name))
	go func() {
		select {
		case <-time.After(d):
			c.note("resume "+name, c.fleet.Resume(name))
		case <-ctx.Done(): // run resumes it
		}
	}()
}

func (c *chaos) pick(names []string) string { return names[c.rand.IntN(len(names))] }

// wait sleeps for a random time and reports false when ctx has ended.
func (c *chaos) wait(ctx context.Context, least, most time.Duration) bool {
	select {
	case <-time.After(least + time.Duration(c.rand.Int64N(int64(most-least)))):
		return true
	case <-ctx.Done():
		return false
	}
}

func (c *chaos) note(what string, err error) {
	if err != nil {
		fmt.Fprintf(c.notes, "%s: %v\n", what, err)
	}
}
