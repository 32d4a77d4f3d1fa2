package runner

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// Config holds what is optional. The zero value is the documented defaults.
type Config struct {
	// Timing; see its fields for the defaults. DrainTimeout and HardStop bound the winding down.
	Timing lease.Timing
	// Restart says what follows when work ends by itself; default OnFailure.
	Restart Restart
	// Backoff spaces the terms of work that keeps failing.
	Backoff Backoff
	// Status is where the state of each workload is published; nil means nowhere.
	Status status.Store
	// Logger receives what happens; nil means silent.
	Logger *slog.Logger
	// Observers are told of events: each may implement StateObserver, WorkObserver, StuckObserver
	// and StatusObserver, and the observers of package lease. What is none of them is ignored, so that
	// one list can be given to every engine.
	Observers []any
	// OnStuck is called when a worker has ignored its cancellation for HardStop: its key is kept from
	// everybody for as long as it runs here and its lease is renewed. Ending the process is a fair
	// answer. It is called on a goroutine that nothing else waits for.
	OnStuck func(key string, term *Term)
	// OnChange is called with every hint of the lease store. It must return quickly.
	OnChange func(lease.Change)
	// VerifySlice is how many leases are verified each renew interval, in rotation; default 100.
	VerifySlice int
	// Trips is for the coordinator, whose heartbeats travel with the renewals; nil means none but a set's own.
	Trips *tick.Board
	// Clock is for simulations inside this module; nil means the machine's clock.
	Clock clock.Clock
}

// Backoff is the wait before a key is contended for again after its work failed. After the n-th
// failure in a row it is uniform between half and all of min(Max, Min*2^(n-1)). A term that lasted
// at least Max makes the next failure the first. Work that returned nil under Always waits like a
// first failure. Others may take the key meanwhile.
type Backoff struct {
	// Min is the first wait: at most a year, default 1 s.
	Min time.Duration
	// Max is the longest wait: at most a year, default 1 min, or Min where that is longer.
	Max time.Duration
}

// longestWait bounds waits, so that sums of them stay far from overflowing.
const longestWait = 365 * 24 * time.Hour

// resolve fills in defaults and checks what package lease does not.
func (c Config) resolve() (Config, error) {
	if c.Restart < OnFailure || c.Restart > Never {
		return c, fault.Invalid("Config.Restart", int(c.Restart), "must be OnFailure, Always or Never")
	}
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"Min", c.Backoff.Min}, {"Max", c.Backoff.Max}} {
		if f.value < 0 {
			return c, fault.Invalid("Backoff."+f.name, f.value, "must not be negative; zero means the default")
		}
		if f.value > longestWait {
			return c, fault.Invalid("Backoff."+f.name, f.value, fmt.Sprintf("must be at most %v; work that shall not run again is for Restart: Never", longestWait))
		}
	}
	if c.Backoff.Min == 0 {
		c.Backoff.Min = time.Second
		if c.Backoff.Max > 0 {
			c.Backoff.Min = min(c.Backoff.Min, c.Backoff.Max)
		}
	}
	if c.Backoff.Max == 0 {
		c.Backoff.Max = max(time.Minute, c.Backoff.Min)
	}
	if c.Backoff.Max < c.Backoff.Min {
		return c, fault.Invalid("Backoff.Max", c.Backoff.Max, fmt.Sprintf("must be at least Backoff.Min = %v", c.Backoff.Min))
	}
	for i, o := range c.Observers {
		if o == nil {
			return c, fault.Invalid(fmt.Sprintf("Observers[%d]", i), "nil", "leave it out")
		}
	}
	return c, nil
}

// wait returns the wait after the n-th failure in a row; x is a random number in [0, 1).
func (b Backoff) wait(n int, x float64) time.Duration {
	d := b.Min
	for ; n > 1 && d < b.Max; n-- {
		d = min(2*d, b.Max)
	}
	return d/2 + time.Duration(x*float64(d-d/2))
}
