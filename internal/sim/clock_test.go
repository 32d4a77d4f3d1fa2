package sim

import (
	"math"
	"slices"
	"sync"
	"time"

	"github.com/tenure-go/tenure/internal/clock"
)

// machine is the clock of one instance: it runs at a rate of its own, and stands still while the machine sleeps.
// While the instance is paused or asleep no timer fires.
type machine struct {
	start    time.Time
	rate     float64
	sleepers bool
	dice     dice

	mu     sync.Mutex
	rolls  int
	mark   time.Time     // when the readings below were taken
	awake  time.Duration // on the monotonic clock
	slept  time.Duration
	asleep bool
	frozen bool // paused or asleep
	timers []*timer
}

var _ clock.Clock = (*machine)(nil)

func newMachine(rate float64, sleepers bool, d dice) *machine {
	now := time.Now()
	return &machine{start: now, mark: now, rate: rate, sleepers: sleepers, dice: d}
}

// advance brings the readings up to the present. The mutex is held.
func (m *machine) advance() {
	now := time.Now()
	d := time.Duration(float64(now.Sub(m.mark)) * m.rate)
	if d == 0 {
		return // keep fractions
	}
	if m.asleep {
		m.slept += d
	} else {
		m.awake += d
	}
	m.mark = now
}

// Now implements clock.Clock.
func (m *machine) Now() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return m.start.Add(m.awake)
}

// Slept implements clock.Clock.
func (m *machine) Slept() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return m.slept
}

// SleepPoll implements clock.Clock.
func (m *machine) SleepPoll() time.Duration {
	if m.sleepers {
		return 50 * time.Millisecond
	}
	return 0
}

// Float64 implements clock.Clock.
func (m *machine) Float64() float64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.rolls++
	return m.dice.nth(m.rolls).float()
}

// line is the time since the machine was made, sleep included: what deadlines are judged by.
func (m *machine) line() time.Duration {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	return m.awake + m.slept
}

// freeze stops the timers, and the monotonic clock where the machine sleeps.
func (m *machine) freeze(asleep bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.frozen, m.asleep = true, asleep
	for _, t := range m.timers {
		t.t.Stop()
	}
}

// thaw lets everything go on. What is due fires now.
func (m *machine) thaw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.advance()
	m.frozen, m.asleep = false, false
	for _, t := range m.timers {
		t.arm()
	}
}

// timer fires when the machine's monotonic clock has come to due.
type timer struct {
	m *machine
	c chan time.Time

	// Guarded by the machine's mutex.
	due   time.Duration
	t     *time.Timer
	round int
}

// NewTimer implements clock.Clock.
func (m *machine) NewTimer(d time.Duration) clock.Timer {
	t := &timer{m: m, c: make(chan time.Time, 1)}
	t.Reset(d)
	return t
}

// C implements clock.Timer.
func (t *timer) C() <-chan time.Time { return t.c }

// Reset implements clock.Timer.
func (t *timer) Reset(d time.Duration) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.clear()
	t.m.advance()
	t.due = t.m.awake + d
	t.m.timers = append(t.m.timers, t)
	t.arm()
}

// Stop implements clock.Timer.
func (t *timer) Stop() {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	t.clear()
}

// clear makes the timer as if it had never been set. The mutex is held.
func (t *timer) clear() {
	t.round++
	if t.t != nil {
		t.t.Stop()
	}
	if i := slices.Index(t.m.timers, t); i >= 0 {
		t.m.timers = slices.Delete(t.m.timers, i, i+1)
	}
	select {
	case <-t.c:
	default:
	}
}

// arm starts the real timer. The mutex is held.
func (t *timer) arm() {
	if t.m.frozen {
		return
	}
	wait := time.Duration(math.Ceil(float64(t.due-t.m.awake) / t.m.rate))
	t.round++
	round := t.round
	t.t = time.AfterFunc(max(wait, 1), func() { t.fire(round) })
}

func (t *timer) fire(round int) {
	t.m.mu.Lock()
	defer t.m.mu.Unlock()
	if t.round != round || t.m.frozen {
		return // set anew, or it fires when the machine goes on
	}
	if i := slices.Index(t.m.timers, t); i >= 0 {
		t.m.timers = slices.Delete(t.m.timers, i, i+1)
	}
	select {
	case t.c <- time.Now():
	default:
	}
}
