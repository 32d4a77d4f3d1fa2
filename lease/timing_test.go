package lease_test

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
)

func TestTimingDefaults(t *testing.T) {
	got, err := lease.Timing{}.Resolve()
	want := lease.Timing{
		LeaseTTL: 10 * time.Second, RenewInterval: 2 * time.Second, HeartbeatTTL: 10 * time.Second, HeartbeatInterval: 2 * time.Second,
		DrainTimeout: 30 * time.Second, HardStop: 10 * time.Second, Margin: time.Second, CallTimeout: 2 * time.Second, Jitter: 0.1,
	}
	if err != nil || got != want {
		t.Errorf("got %+v, %v", got, err)
	}
	if d := got.Outage(); d != 4800*time.Millisecond {
		t.Errorf("outage ridden out: %v", d)
	}
	if again, err := got.Resolve(); err != nil || again != got {
		t.Errorf("resolving twice: %+v, %v", again, err)
	}
}

func TestTimingFollowsTheLeaseTTL(t *testing.T) {
	got, err := lease.Timing{LeaseTTL: 3 * time.Second}.Resolve()
	if err != nil || got.RenewInterval != 600*time.Millisecond || got.HeartbeatTTL != 3*time.Second ||
		got.HeartbeatInterval != 600*time.Millisecond || got.Margin != 300*time.Millisecond || got.CallTimeout != 600*time.Millisecond {
		t.Errorf("got %+v, %v", got, err)
	}
}

// Failures F3, F7, 61.
func TestTimingRefusals(t *testing.T) {
	for name, c := range map[string]struct {
		timing lease.Timing
		parts  []string // of the message: field, value, bound
	}{
		"negative":        {lease.Timing{Margin: -time.Second}, []string{"Timing.Margin", "-1s", "negative"}},
		"TTL too short":   {lease.Timing{LeaseTTL: 9 * time.Millisecond}, []string{"Timing.LeaseTTL", "9ms", "10ms"}},
		"TTL too long":    {lease.Timing{LeaseTTL: 25 * time.Hour}, []string{"Timing.LeaseTTL", "25h", "24h"}},
		"interval":        {lease.Timing{RenewInterval: 4 * time.Second}, []string{"Timing.RenewInterval", "4s", "LeaseTTL/3 = 3.33"}},
		"heartbeat":       {lease.Timing{HeartbeatInterval: 4 * time.Second}, []string{"Timing.HeartbeatInterval", "4s", "HeartbeatTTL/3"}},
		"no room":         {lease.Timing{Margin: 6 * time.Second}, []string{"Timing.LeaseTTL", "10s", "10.2s"}},
		"two that wrap":   {lease.Timing{Margin: math.MaxInt64, CallTimeout: math.MaxInt64}, []string{"Timing.Margin", "10s"}},
		"drain for ever":  {lease.Timing{DrainTimeout: math.MaxInt64}, []string{"Timing.DrainTimeout", "8760h"}},
		"no hard stop":    {lease.Timing{HardStop: math.MaxInt64}, []string{"Timing.HardStop", "8760h"}},
		"jitter":          {lease.Timing{Jitter: 0.6}, []string{"Timing.Jitter", "0.6", "0.5"}},
		"jitter NaN":      {lease.Timing{Jitter: math.NaN()}, []string{"Timing.Jitter", "NaN", "0.5"}},
		"jitter infinite": {lease.Timing{Jitter: math.Inf(1)}, []string{"Timing.Jitter", "Inf", "0.5"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.timing.Resolve()
			if !errors.Is(err, lease.ErrInvalid) {
				t.Fatalf("got %v", err)
			}
			for _, p := range c.parts {
				if !strings.Contains(err.Error(), p) {
					t.Errorf("%q does not name %q", err, p)
				}
			}
		})
	}
}

func TestNoJitter(t *testing.T) {
	if got, err := (lease.Timing{Jitter: -1}).Resolve(); err != nil || got.Jitter != 0 {
		t.Errorf("got %v, %v", got.Jitter, err)
	}
}
