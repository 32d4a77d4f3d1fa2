package sim

import (
	"slices"
	"testing"
)

// shrink looks for a smaller schedule that breaks the same promise: first it leaves out ever fewer steps at
// once, then it makes the weather better. Each candidate has three tries, since a run is not repeated to the last goroutine.
func shrink(t *testing.T, s schedule, rule string) schedule {
	t.Helper()
	budget := 300 // runs
	breaks := func(c schedule) bool {
		for range 3 {
			if budget--; budget < 0 {
				return false
			}
			if play(t, c).rule == rule {
				return true
			}
		}
		return false
	}
	return shrinkBy(s, breaks)
}

// shrinkBy is shrink for any notion of what matters.
func shrinkBy(s schedule, breaks func(schedule) bool) schedule {
	for size := (len(s.Steps) + 1) / 2; size > 0; size /= 2 {
		for at := 0; at < len(s.Steps); {
			c := s
			c.Steps = slices.Delete(slices.Clone(s.Steps), at, min(at+size, len(s.Steps)))
			if breaks(c) {
				s = c
			} else {
				at += size
			}
		}
	}
	for _, better := range []func(*schedule){
		func(c *schedule) { c.Loss = 0 }, func(c *schedule) { c.Half = 0 }, func(c *schedule) { c.Twice = 0 },
		func(c *schedule) { c.Sick = 0 }, func(c *schedule) { c.Deaf = 0 }, func(c *schedule) { c.Rates = nil },
		func(c *schedule) { c.Far = false }, func(c *schedule) { c.Keys = 1 },
	} {
		c := s
		if better(&c); breaks(c) {
			s = c
		}
	}
	return s
}
