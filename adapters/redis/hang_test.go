package redisstore_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// A stopped server answers nothing and refuses nothing, and go-redis waits on although its context
// has ended. The store's calls return all the same, for a deadline and for a plain cancel.
func TestCallsEndWithTheirContextOnAStoppedServer(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	l := take(t, s, sess, "k")
	self := registry.Self{Instance: instance.Instance{ID: "i"}}
	calls := map[string]func(context.Context) error{
		"OpenSession":  func(ctx context.Context) error { return second(s.OpenSession(ctx, sess)) },
		"Acquire":      func(ctx context.Context) error { return second(s.Acquire(ctx, sess, []string{"k"})) },
		"Renew":        func(ctx context.Context) error { return second(s.Renew(ctx, sess)) },
		"Verify":       func(ctx context.Context) error { return second(s.Verify(ctx, sess, []lease.Lease{l})) },
		"Release":      func(ctx context.Context) error { return s.Release(ctx, sess, []lease.Lease{l}) },
		"CloseSession": func(ctx context.Context) error { return s.CloseSession(ctx, sess) },
		"Heartbeat":    func(ctx context.Context) error { return second(s.Heartbeat(ctx, self, time.Second, 0)) },
		"Members":      func(ctx context.Context) error { return second(s.Members(ctx)) },
		"PutStatus":    func(ctx context.Context) error { return s.PutStatus(ctx, "i", time.Second, nil) },
		"AllStatuses":  func(ctx context.Context) error { return second(s.AllStatuses(ctx)) },
		"Statuses":     func(ctx context.Context) error { return second(s.Statuses(ctx, []string{"k"})) },
		"Leases":       func(ctx context.Context) error { return second(s.Leases(ctx)) },
		"Check":        func(ctx context.Context) error { return second(s.Check(ctx)) },
		"Watch":        func(ctx context.Context) error { return s.Watch(ctx, func(lease.Change) {}) },
	}
	server.Freeze()
	defer server.Thaw()
	const limit = 200 * time.Millisecond
	for _, cause := range []error{context.DeadlineExceeded, context.Canceled} {
		var wg sync.WaitGroup
		for name, call := range calls {
			wg.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), limit)
				if cause == context.Canceled {
					ctx, cancel = context.WithCancel(t.Context())
					time.AfterFunc(limit, cancel)
				}
				defer cancel()
				begun := time.Now()
				err := call(ctx)
				if !errors.Is(err, lease.ErrUnavailable) || !errors.Is(err, cause) {
					t.Errorf("%s on a stopped server: %v, want ErrUnavailable and %v", name, err, cause)
				}
				if took := time.Since(begun); took > limit+500*time.Millisecond {
					t.Errorf("%s returned %v after its context ended", name, took-limit)
				}
			})
		}
		wg.Wait()
	}
}

// A request that reaches the server after its sender gave up grants nothing: its lease would be one that
// nobody knows of.
func TestLateAcquireGrantsNothing(t *testing.T) {
	server := redistest.Start(t)
	s, sess := ready(t, server, nil, redisstore.Config{})
	take(t, s, sess, "k")
	before, _ := traffic(server)
	server.Freeze()
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := s.Acquire(short, sess, []string{"late"}); !errors.Is(err, lease.ErrUnavailable) {
		t.Fatalf("Acquire on a stopped server: %v", err)
	}
	time.Sleep(50 * time.Millisecond)
	server.Thaw()
	eventually(t, func() bool {
		now, _ := traffic(server)
		return now["evalsha"] > before["evalsha"]
	}, "the late request never arrived")
	held, err := s.Leases(ctx)
	must(t, err)
	if len(held) != 1 || held[0].Key != "k" {
		t.Errorf("the late request was carried out: %+v", held)
	}
	take(t, s, sess, "late")
}

// The server's clock may be stepped: then a request only seems to be late, and is sent again at once.
// Failure 5.
func TestSteppedClockIsNotLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := redistest.StartVirtual(t)
		s, _ := ready(t, nil, v.Client(), redisstore.Config{})
		for i, step := range []time.Duration{time.Minute, -time.Hour, time.Hour} {
			v.Step(step)
			sess := lease.NewSession("owner", time.Second)
			_, err := s.OpenSession(ctx, sess)
			must(t, err)
			v.Step(time.Millisecond * 900)
			limited, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
			g, err := s.Acquire(limited, sess, names(i+1))
			cancel()
			must(t, err)
			if len(g.Leases)+len(g.Refused) != i+1 {
				t.Fatalf("after a step of %v: %+v", step, g)
			}
		}
	})
}

// hung is a client whose calls never come back while it hangs.
type hung struct {
	redis.UniversalClient
	hang chan struct{}
}

func (h hung) Process(ctx context.Context, cmd redis.Cmder) error {
	<-h.hang
	return h.UniversalClient.Process(ctx, cmd)
}

// However long a client hangs, only so many calls are left behind in it.
func TestAbandonedCallsAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		v := redistest.StartVirtual(t)
		h := hung{v.Client(), make(chan struct{})}
		s := open(t, h, redisstore.Config{Fleet: "fleet"})
		sess := lease.NewSession("owner", time.Second)
		for i := range 200 {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			_, err := s.Renew(ctx, sess)
			cancel()
			if !errors.Is(err, lease.ErrUnavailable) {
				t.Fatal(err)
			}
			if refused := strings.Contains(err.Error(), "have not come back"); refused != (i >= 64) {
				t.Fatalf("call %d: %v", i, err)
			}
		}
		close(h.hang)
		synctest.Wait()
		if _, err := s.Renew(ctx, sess); err != nil { // frozen: it opens the session
			t.Fatalf("after the client came back: %v", err)
		}
	})
}

// A client that panics, in a hook for example, costs the call and not the process.
func TestPanicInTheClientIsUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := redistest.StartVirtual(t).Client()
		c.AddHook(hook(func(context.Context, redis.Cmder) { panic("hooked") }))
		s := open(t, c, redisstore.Config{Fleet: "fleet"})
		_, err := s.Renew(ctx, lease.NewSession("owner", time.Second))
		if !errors.Is(err, lease.ErrUnavailable) || !strings.Contains(err.Error(), "hooked") {
			t.Fatal(err)
		}
	})
}

// hook runs before every command.
type hook func(context.Context, redis.Cmder)

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }
func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		h(ctx, cmd)
		return next(ctx, cmd)
	}
}
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		for _, cmd := range cmds {
			h(ctx, cmd)
		}
		return next(ctx, cmds)
	}
}

// After Close nothing of the store is left: no goroutine, and no connection but the client's idle ones.
// Failure 75.
func TestCloseLeavesNothing(t *testing.T) {
	server := redistest.Start(t)
	link := &redistest.Link{}
	c := redis.NewClient(link.Through(server.Options()))
	s, err := redisstore.New(c, redisstore.Config{Fleet: "fleet"})
	must(t, err)
	must(t, s.Provision(ctx))
	before := runtime.NumGoroutine()
	sess := lease.NewSession("owner", time.Second)
	var wg sync.WaitGroup
	started := make(chan struct{}, 4)
	for range 4 {
		wg.Go(func() {
			err := s.Watch(ctx, func(lease.Change) { started <- struct{}{} })
			if !errors.Is(err, lease.ErrClosed) {
				t.Errorf("Watch of a closed store: %v", err)
			}
		})
	}
	for range 4 {
		<-started
	}
	for range 50 {
		wg.Go(func() {
			_, err := s.OpenSession(ctx, sess)
			if err != nil && !errors.Is(err, lease.ErrClosed) && !errors.Is(err, lease.ErrUnavailable) {
				t.Error(err)
			}
		})
	}
	must(t, s.Close())
	must(t, s.Close())
	wg.Wait()
	if _, err := s.Renew(ctx, sess); !errors.Is(err, lease.ErrClosed) || errors.Is(err, lease.ErrUnavailable) {
		t.Errorf("Renew after Close: %v", err)
	}
	must(t, c.Ping(ctx).Err()) // the client is its owner's
	eventually(t, func() bool { return runtime.NumGoroutine() <= before+1 }, "goroutines are left behind")
	c.Close()
	eventually(t, func() bool { return link.Conns() == 0 }, "connections are left behind")
}

// eventually waits for what must come about soon.
func eventually(t *testing.T, f func() bool, what string) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); !f(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// A client that was closed under the store ends it too: there is nothing to wait for.
func TestClosedClientReadsClosed(t *testing.T) {
	c := redis.NewClient(redistest.Options("127.0.0.1:1"))
	s := open(t, c, redisstore.Config{Fleet: "fleet"})
	c.Close()
	err := s.PutStatus(ctx, "o", time.Second, []status.Record{})
	if !errors.Is(err, lease.ErrClosed) || !errors.Is(err, redis.ErrClosed) || errors.Is(err, lease.ErrUnavailable) {
		t.Error(err)
	}
}
