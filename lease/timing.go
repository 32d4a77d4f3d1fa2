package lease

import (
	"fmt"
	"log/slog"
	"time"

	"github.com/tenure-go/tenure/internal/fault"
)

// Timing holds every duration that the engines live by. Its zero value is the documented
// defaults; Resolve fills what is zero and validates once. Where only LeaseTTL is set, the
// others follow it in the proportions of the defaults.
type Timing struct {
	// LeaseTTL is the life of a session after each renewal: how long after a crash its leases
	// stay taken. 10 ms to 24 h and at most the fleet's MaxTTL; default 10 s.
	LeaseTTL time.Duration
	// RenewInterval is how often the session is renewed. At most LeaseTTL/3; default LeaseTTL/5 (2 s).
	RenewInterval time.Duration
	// HeartbeatTTL is the life of a membership record after each heartbeat; default LeaseTTL (10 s).
	HeartbeatTTL time.Duration
	// HeartbeatInterval is how often an instance beats. At most HeartbeatTTL/3; default HeartbeatTTL/5 (2 s).
	HeartbeatInterval time.Duration
	// DrainTimeout is how long a worker may finish what is in flight before it is cancelled: at most a
	// year, default 30 s.
	DrainTimeout time.Duration
	// HardStop is how long a cancelled worker may take to return before it counts as stuck: at most a
	// year, default 10 s.
	HardStop time.Duration
	// Margin is how long before the store's expiry a term ends locally. It covers clock rates
	// that differ by less than Margin/LeaseTTL; less than LeaseTTL, default LeaseTTL/10 (1 s).
	Margin time.Duration
	// CallTimeout bounds one store call, at most LeaseTTL; default LeaseTTL/5 (2 s), but 10 s at most.
	CallTimeout time.Duration
	// Jitter spreads intervals uniformly over ±Jitter of themselves: 0 to 0.5, default 0.1 (10 %).
	// A negative value means none.
	Jitter float64
}

// MinTTL is the shortest LeaseTTL and HeartbeatTTL that the engines accept. Stores accept 1 ms;
// below 10 ms scheduling noise alone would end terms.
const MinTTL = 10 * time.Millisecond

// longest bounds the waits that have no other bound, so that sums of them stay far from overflowing.
const longest = 365 * 24 * time.Hour

// Resolve returns t with defaults filled in, or an *InvalidError that names the field, the
// value and the bound.
func (t Timing) Resolve() (Timing, error) {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{
		{"LeaseTTL", t.LeaseTTL}, {"RenewInterval", t.RenewInterval}, {"HeartbeatTTL", t.HeartbeatTTL},
		{"HeartbeatInterval", t.HeartbeatInterval}, {"DrainTimeout", t.DrainTimeout}, {"HardStop", t.HardStop},
		{"Margin", t.Margin}, {"CallTimeout", t.CallTimeout},
	} {
		if f.value < 0 {
			return t, fault.Invalid("Timing."+f.name, f.value, "must not be negative; zero means the default")
		}
	}
	if !(t.Jitter <= 0.5) {
		return t, fault.Invalid("Timing.Jitter", t.Jitter, "must be at most 0.5; zero means 0.1, a negative value none")
	}
	t = t.fill()
	return t, t.check()
}

func (t Timing) fill() Timing {
	or := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	or(&t.LeaseTTL, 10*time.Second)
	or(&t.RenewInterval, t.LeaseTTL/5)
	or(&t.HeartbeatTTL, t.LeaseTTL)
	or(&t.HeartbeatInterval, t.HeartbeatTTL/5)
	or(&t.DrainTimeout, 30*time.Second)
	or(&t.HardStop, 10*time.Second)
	or(&t.Margin, t.LeaseTTL/10)
	or(&t.CallTimeout, min(t.LeaseTTL/5, 10*time.Second))
	if t.Jitter == 0 {
		t.Jitter = 0.1
	}
	t.Jitter = max(t.Jitter, 0)
	return t
}

func (t Timing) check() error {
	for _, f := range []struct {
		name  string
		value time.Duration
	}{{"LeaseTTL", t.LeaseTTL}, {"HeartbeatTTL", t.HeartbeatTTL}} {
		if f.value < MinTTL || f.value > fault.MaxTTL {
			return fault.Invalid("Timing."+f.name, f.value, fmt.Sprintf("must be between %v and %v", MinTTL, fault.MaxTTL))
		}
	}
	for _, f := range []struct {
		name  string
		value time.Duration
		most  time.Duration
	}{
		{"Margin", t.Margin, t.LeaseTTL}, {"CallTimeout", t.CallTimeout, t.LeaseTTL},
		{"DrainTimeout", t.DrainTimeout, longest}, {"HardStop", t.HardStop, longest},
	} {
		if f.value > f.most {
			return fault.Invalid("Timing."+f.name, f.value, fmt.Sprintf("must be at most %v", f.most))
		}
	}
	if most := t.LeaseTTL / 3; t.RenewInterval > most {
		return fault.Invalid("Timing.RenewInterval", t.RenewInterval, fmt.Sprintf("must be at most LeaseTTL/3 = %v", most))
	}
	if most := t.HeartbeatTTL / 3; t.HeartbeatInterval > most {
		return fault.Invalid("Timing.HeartbeatInterval", t.HeartbeatInterval, fmt.Sprintf("must be at most HeartbeatTTL/3 = %v", most))
	}
	if t.Outage() <= 0 {
		return fault.Invalid("Timing.LeaseTTL", t.LeaseTTL, fmt.Sprintf(
			"must exceed Margin + RenewInterval*(1+Jitter) + CallTimeout = %v; raise it, or lower one of those",
			t.Margin+t.renewMost()+t.CallTimeout))
	}
	return nil
}

func (t Timing) renewMost() time.Duration {
	return t.RenewInterval + time.Duration(float64(t.RenewInterval)*t.Jitter)
}

// backoff returns the wait after a failure that follows the wait last. It is short beside the life of a
// lease, and beside what people wait for.
func (t Timing) backoff(last time.Duration) time.Duration {
	first := min(t.RenewInterval/16, time.Second)
	return min(max(2*last, first), t.RenewInterval, 10*time.Second)
}

// Outage is the longest time for which the store may fail to answer without ending a term:
// LeaseTTL - Margin - RenewInterval*(1+Jitter) - CallTimeout.
func (t Timing) Outage() time.Duration {
	return t.LeaseTTL - t.Margin - t.renewMost() - t.CallTimeout
}

// WorstFailover is the longest time from an owner's crash until its key can be granted again and
// was asked for, on a store without outage: the later of lease and heartbeat expiry, and one call.
func (t Timing) WorstFailover() time.Duration {
	return max(t.LeaseTTL, t.HeartbeatTTL) + t.CallTimeout
}

// WorstHandover is the longest graceful handover without hints: the old owner's notice of the new plan,
// its drain, and the next owner's notice of the release.
func (t Timing) WorstHandover() time.Duration {
	beat := t.HeartbeatInterval + time.Duration(float64(t.HeartbeatInterval)*t.Jitter)
	return 2*beat + t.DrainTimeout + t.HardStop
}

// LogValue shows the resolved knobs and what follows from them.
func (t Timing) LogValue() slog.Value {
	return slog.GroupValue(
		slog.Duration("leaseTTL", t.LeaseTTL), slog.Duration("renewInterval", t.RenewInterval),
		slog.Duration("heartbeatTTL", t.HeartbeatTTL), slog.Duration("heartbeatInterval", t.HeartbeatInterval),
		slog.Duration("drainTimeout", t.DrainTimeout), slog.Duration("hardStop", t.HardStop),
		slog.Duration("margin", t.Margin), slog.Duration("callTimeout", t.CallTimeout), slog.Float64("jitter", t.Jitter),
		slog.Duration("outageRiddenOut", t.Outage()), slog.Duration("worstFailover", t.WorstFailover()),
		slog.Duration("worstHandover", t.WorstHandover()))
}
