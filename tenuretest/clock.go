package tenuretest

import (
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/tenure-go/tenure/internal/clock"
)

// pausable is the clock of one instance. While it is paused time goes on, but no timer fires: those
// that are due fire when it goes on, as they do in a process that was stopped.
type pausable struct {
	mu     sync.Mutex
	rand   *rand.Rand
	paused bool
	due    []*pausableTimer // fired while paused
}

var _ clock.Clock = (*pausable)(nil)

// newPausable seeds the random part of the instance's waits by its name, so that a test replays.
func newPausable(name string) *pausable {
	h := fnv.New64a()
	_, _ = h.Write([]byte(name)) // never fails
	return &pausable{rand: rand.New(rand.NewPCG(h.Sum64(), 0))}
}

func (*pausable) Now() time.Time           { return time.Now() }
func (*pausable) Slept() time.Duration     { return 0 }
func (*pausable) SleepPoll() time.Duration { return 0 }

func (c *pausable) Float64() float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.rand.Float64()
}

func (c *pausable) NewTimer(d time.Duration) clock.Timer {
	t := &pausableTimer{clock: c, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// pause stops the timers.
func (c *pausable) pause() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = true
}

// resume lets them go on.
func (c *pausable) resume() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paused = false
	for _, t := range c.due {
		t.send()
	}
	c.due = nil
}

// pausableTimer is a timer whose reader may be paused.
type pausableTimer struct {
	clock *pausable
	c     chan time.Time

	// Guarded by the clock's mutex.
	timer *time.Timer
	round int // rises with each Reset and Stop: a firing of an earlier one is void
}

func (t *pausableTimer) C() <-chan time.Time { return t.c }

func (t *pausableTimer) Reset(d time.Duration) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.clear()
	round := t.round
	t.timer = time.AfterFunc(d, func() { t.fire(round) })
}

func (t *pausableTimer) Stop() {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	t.clear()
}

// clear makes the timer as if it had never been set. The mutex is held.
func (t *pausableTimer) clear() {
	t.round++
	if t.timer != nil {
		t.timer.Stop()
	}
	select {
	case <-t.c:
	default:
	}
	for i, d := range t.clock.due {
		if d == t {
			t.clock.due = append(t.clock.due[:i], t.clock.due[i+1:]...)
			break
		}
	}
}

func (t *pausableTimer) fire(round int) {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	switch {
	case round != t.round:
	case t.clock.paused:
		t.clock.due = append(t.clock.due, t)
	default:
		t.send()
	}
}

// send makes C ready. The mutex is held.
func (t *pausableTimer) send() {
	select {
	case t.c <- time.Now():
	default:
	}
}
