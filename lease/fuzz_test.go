package lease_test

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// FuzzNames: keys, sessions and owners are accepted by one rule, and a refusal names its field in one short line.
// Failures 61, 69.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"", "k", "tenure:planner", "tenure", "Tenure:x", "a\x00b", "\xff", "é", " ", strings.Repeat("k", 512), strings.Repeat("k", 513), strings.Repeat("é", 257)} {
		f.Add(s, int64(time.Second))
	}
	for _, ttl := range []int64{0, -1, 999_999, 1_000_000, int64(24 * time.Hour), int64(24*time.Hour) + 1, 1 << 62, -1 << 63} {
		f.Add("k", ttl)
	}
	f.Fuzz(func(t *testing.T, name string, ttl int64) {
		good := name != "" && len(name) <= 512 && utf8.ValidString(name) && strings.IndexByte(name, 0) < 0
		lives := ttl >= int64(time.Millisecond) && ttl <= int64(24*time.Hour)
		for what, c := range map[string]struct {
			err  error
			want bool
		}{
			"key":      {lease.CheckKey(name), good},
			"user key": {lease.CheckUserKey(name), good && !strings.HasPrefix(name, "tenure:")},
			"ttl":      {lease.CheckTTL(time.Duration(ttl)), lives},
			"session":  {lease.Session{ID: name, Owner: "o", TTL: time.Duration(ttl)}.Check(), good && lives},
			"owner":    {lease.Session{ID: "s", Owner: instance.ID(name), TTL: time.Second}.Check(), good},
		} {
			if (c.err == nil) != c.want {
				t.Errorf("%s %q, %v: %v", what, name, time.Duration(ttl), c.err)
			}
			checkRefusal(t, c.err)
		}
	})
}

func checkRefusal(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	var invalid *lease.InvalidError
	if !errors.As(err, &invalid) || invalid.Field == "" || invalid.Remedy == "" || !utf8.ValidString(err.Error()) ||
		strings.ContainsAny(err.Error(), "\n\x00") || len(err.Error()) > 600 {
		t.Errorf("a refusal reads %q", err)
	}
}

// FuzzTiming: what is accepted holds together, resolving twice changes nothing, and a refusal names its field.
// Failure F7.
func FuzzTiming(f *testing.F) {
	s := int64(time.Second)
	f.Add(int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), int64(0), 0.0)
	f.Add(10*s, 2*s, 10*s, 2*s, 30*s, 10*s, s, 2*s, 0.1)
	f.Add(int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), -1.0)
	f.Add(int64(-1), s, s, s, s, s, s, s, 0.5)
	f.Add(int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), int64(1<<62), 0.51)
	f.Add(s, s/3, s, s/3, int64(0), int64(0), s/2, s/2, 0.0)
	f.Fuzz(func(t *testing.T, ttl, renew, beatTTL, beat, drain, hard, margin, call int64, jitter float64) {
		got, err := lease.Timing{
			LeaseTTL: time.Duration(ttl), RenewInterval: time.Duration(renew), HeartbeatTTL: time.Duration(beatTTL), HeartbeatInterval: time.Duration(beat),
			DrainTimeout: time.Duration(drain), HardStop: time.Duration(hard), Margin: time.Duration(margin), CallTimeout: time.Duration(call), Jitter: jitter,
		}.Resolve()
		if err != nil {
			checkRefusal(t, err)
			if !strings.Contains(err.Error(), "Timing.") {
				t.Errorf("no field is named: %v", err)
			}
			return
		}
		for name, d := range map[string]time.Duration{
			"LeaseTTL": got.LeaseTTL, "RenewInterval": got.RenewInterval, "HeartbeatTTL": got.HeartbeatTTL, "HeartbeatInterval": got.HeartbeatInterval,
			"DrainTimeout": got.DrainTimeout, "HardStop": got.HardStop, "Margin": got.Margin, "CallTimeout": got.CallTimeout,
			"Outage": got.Outage(), "WorstFailover": got.WorstFailover(), "WorstHandover": got.WorstHandover(),
		} {
			if d <= 0 {
				t.Errorf("%s is %v in %+v", name, d, got)
			}
		}
		if 3*got.RenewInterval > got.LeaseTTL || 3*got.HeartbeatInterval > got.HeartbeatTTL || got.LeaseTTL < lease.MinTTL {
			t.Errorf("accepted %+v", got)
		}
		if got.Jitter == 0 {
			return // "none" was asked for, and zero asks for the default
		}
		if again, err := got.Resolve(); err != nil || again != got {
			t.Errorf("%+v resolves to %+v (%v)", got, again, err)
		}
	})
}
