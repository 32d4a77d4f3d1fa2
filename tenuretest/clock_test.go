package tenuretest

import (
	"testing"
	"testing/synctest"
	"time"
)

func TestPausedTimersFireWhenTheClockGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newPausable("a")
		early, late, reset, stopped := c.NewTimer(time.Second), c.NewTimer(time.Minute), c.NewTimer(time.Second), c.NewTimer(time.Second)
		fired := func() (out [4]bool) {
			synctest.Wait()
			for i, timer := range []interface{ C() <-chan time.Time }{early, late, reset, stopped} {
				select {
				case <-timer.C():
					out[i] = true
				default:
				}
			}
			return out
		}
		c.pause()
		<-time.After(2 * time.Second)
		if got := fired(); got != [4]bool{} {
			t.Errorf("while paused: %v", got)
		}
		reset.Reset(time.Hour)
		stopped.Stop()
		c.resume()
		if got, want := fired(), [4]bool{0: true}; got != want {
			t.Errorf("after the pause: %v, want %v", got, want)
		}
		<-time.After(2 * time.Hour)
		if got, want := fired(), [4]bool{1: true, 2: true}; got != want {
			t.Errorf("later: %v, want %v", got, want)
		}
	})
}

func TestResetForgetsWhatHasFired(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		timer := newPausable("a").NewTimer(time.Second)
		<-time.After(time.Second)
		synctest.Wait()
		late := timer.(*pausableTimer)
		before := late.round
		timer.Reset(time.Hour)
		late.fire(before) // it was on its way when the Reset came
		select {
		case <-timer.C():
			t.Error("a firing from before the Reset came through")
		case <-time.After(time.Minute):
		}
		timer.Stop()
	})
}

func TestRandomPartOfWaitsReplays(t *testing.T) {
	a, again, b := newPausable("a"), newPausable("a"), newPausable("b")
	x, y, z := a.Float64(), again.Float64(), b.Float64()
	if x != y || x == z || x < 0 || x >= 1 {
		t.Errorf("%v, %v, %v", x, y, z)
	}
}
