//go:build unix && !linux

package guard

import (
	"time"
)

// Now returns the present instant. It is the wall clock, the only one that two processes share everywhere: where it is
// set back, a guardian whose holder is gone acts later by as much.
func Now() Instant { return Instant(time.Now().UnixNano()) }

// alarm tells when an instant has come.
type alarm struct {
	C     chan struct{}
	timer *time.Timer
}

func newAlarm() (*alarm, error) {
	a := &alarm{C: make(chan struct{}, 1)}
	a.timer = time.AfterFunc(time.Hour, func() {
		select {
		case a.C <- struct{}{}:
		default:
		}
	})
	return a, nil
}

func (a *alarm) set(at Instant) error {
	a.timer.Reset(max(at.Sub(Now()), 0))
	return nil
}

// sweepPause is the time between two looks at what is left of a killed tree.
const sweepPause = 5 * time.Millisecond
