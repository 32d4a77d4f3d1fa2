package resolver

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/internal/clock"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// Config holds what is optional. The zero value is the documented defaults.
type Config struct {
	// MaxAge is how old an answer may be while the store answers: 1 ms to 24 h, default 1 s.
	MaxAge time.Duration
	// MaxStale is how old an answer may be while it does not: at least MaxAge, at most 24 h, default 10 s, or
	// MaxAge where that is longer.
	MaxStale time.Duration
	// Retry is how old the answer "no owner" may be, and how long Await pauses: nothing in a store hints
	// at a grant. At most MaxAge; default 100 ms, or MaxAge where that is shorter.
	Retry time.Duration
	// CallTimeout bounds one read of the store: 1 ms to 24 h, default 2 s.
	CallTimeout time.Duration
	// Leases, where it is not nil, is where owners are read instead of from the statuses: all leases of
	// the fleet with each read. It finds work that publishes no status.
	Leases lease.Lister
	// Hints is what Run follows. Nil means the store itself, where it is a lease.Watcher.
	Hints lease.Watcher
	// Known reports whether a key is one of the fleet's workloads. Give it where keys come from outside: what is
	// not known is refused at no cost. It must return quickly. Nil means that every valid key may be one.
	Known func(key string) bool
	// Logger receives what goes wrong; nil means silent.
	Logger *slog.Logger
	// Clock is for simulations inside this module; nil means the machine's clock.
	Clock clock.Clock
}

func (c Config) resolve() (Config, error) {
	for _, f := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{
		{"MaxAge", &c.MaxAge, time.Second}, {"MaxStale", &c.MaxStale, max(10*time.Second, c.MaxAge)},
		{"Retry", &c.Retry, 0}, {"CallTimeout", &c.CallTimeout, 2 * time.Second},
	} {
		if *f.value == 0 {
			*f.value = f.or
		}
		if f.name == "Retry" && c.Retry == 0 {
			c.Retry = min(100*time.Millisecond, c.MaxAge)
		}
		if *f.value < fault.MinTTL || *f.value > fault.MaxTTL {
			return c, fault.Invalid("resolver.Config."+f.name, *f.value, fmt.Sprintf("must be between %v and %v; zero means the default", fault.MinTTL, fault.MaxTTL))
		}
	}
	if c.MaxStale < c.MaxAge {
		return c, fault.Invalid("resolver.Config.MaxStale", c.MaxStale, fmt.Sprintf("must be at least MaxAge = %v", c.MaxAge))
	}
	if c.Retry > c.MaxAge {
		return c, fault.Invalid("resolver.Config.Retry", c.Retry, fmt.Sprintf("must be at most MaxAge = %v", c.MaxAge))
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	c.Clock = clock.Or(c.Clock)
	return c, nil
}
