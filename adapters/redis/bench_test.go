package redisstore_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"
	"time"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
)

// benched is a provisioned store on a private server, and a session on it.
func benched(b *testing.B) (*redistest.Server, *redisstore.Store, lease.Session) {
	b.Helper()
	server := redistest.Start(b)
	s := open(b, server.Client(), redisstore.Config{Fleet: "bench", MaxTTL: time.Hour})
	if err := s.Provision(ctx); err != nil {
		b.Fatal(err)
	}
	sess := lease.NewSession("owner", time.Hour)
	if _, err := s.OpenSession(ctx, sess); err != nil {
		b.Fatal(err)
	}
	return server, s, sess
}

var scriptCalls = regexp.MustCompile(`cmdstat_evalsha:calls=(\d+)`)

// cpu is the processor time that the server has used, in seconds.
func cpu(server *redistest.Server) (seconds float64) {
	for _, m := range regexp.MustCompile(`used_cpu_(?:sys|user):([\d.]+)`).FindAllStringSubmatch(server.Admin("INFO", "cpu").(string), -1) {
		v, _ := strconv.ParseFloat(m[1], 64)
		seconds += v
	}
	return seconds
}

// timed runs f b.N times, and reports also the server's processor time and how many scripts it ran.
func timed(b *testing.B, server *redistest.Server, f func() error) {
	b.Helper()
	if err := f(); err != nil { // the scripts are known to the server from here on
		b.Fatal(err)
	}
	server.Admin("CONFIG", "RESETSTAT")
	before := cpu(server)
	b.ReportAllocs()
	for b.Loop() {
		if err := f(); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric((cpu(server)-before)*1e6/float64(b.N), "server-cpu-µs/op")
	if m := scriptCalls.FindStringSubmatch(server.Admin("INFO", "commandstats").(string)); m != nil {
		calls, _ := strconv.ParseFloat(m[1], 64)
		b.ReportMetric(calls/float64(b.N), "scripts/op")
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	server, s, sess := benched(b)
	timed(b, server, func() error {
		g, err := s.Acquire(ctx, sess, []string{"key"})
		if err != nil {
			return err
		}
		return s.Release(ctx, sess, g.Leases)
	})
}

func BenchmarkRenew(b *testing.B) {
	for _, n := range []int{1, 10_000} {
		b.Run(fmt.Sprintf("%d-leases", n), func(b *testing.B) {
			server, s, sess := benched(b)
			keys := make([]string, n)
			for i := range keys {
				keys[i] = fmt.Sprintf("key-%d", i)
			}
			if g, err := s.Acquire(ctx, sess, keys); err != nil || len(g.Leases) != n {
				b.Fatalf("granted %d of %d: %v", len(g.Leases), n, err)
			}
			timed(b, server, func() error {
				_, err := s.Renew(ctx, sess)
				return err
			})
		})
	}
}

func BenchmarkVerify(b *testing.B) {
	server, s, sess := benched(b)
	keys := make([]string, 100)
	for i := range keys {
		keys[i] = fmt.Sprintf("key-%d", i)
	}
	g, err := s.Acquire(ctx, sess, keys)
	if err != nil {
		b.Fatal(err)
	}
	timed(b, server, func() error {
		_, err := s.Verify(ctx, sess, g.Leases)
		return err
	})
}

// BenchmarkHeartbeat is the steady state: the membership is known and has not changed.
func BenchmarkHeartbeat(b *testing.B) {
	for _, n := range []int{1, 100} {
		b.Run(fmt.Sprintf("%d-instances", n), func(b *testing.B) {
			server, s, _ := benched(b)
			var v registry.View
			self := registry.Self{}
			for i := range n {
				self.Instance = instance.Instance{ID: instance.ID(fmt.Sprintf("instance-%d", i))}
				var err error
				if v, err = s.Heartbeat(ctx, self, time.Hour, 0); err != nil {
					b.Fatal(err)
				}
			}
			timed(b, server, func() error {
				_, err := s.Heartbeat(ctx, self, time.Hour, v.Generation)
				return err
			})
		})
	}
}
