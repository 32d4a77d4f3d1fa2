package redisstore_test

import (
	"context"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
	"github.com/tenure-go/tenure/storetest"
)

var ctx = context.Background()

// open makes a handle that is closed when the test ends.
func open(tb testing.TB, c redis.UniversalClient, cfg redisstore.Config) *redisstore.Store {
	tb.Helper()
	s, err := redisstore.New(c, cfg)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { s.Close() })
	return s
}

// backing is what a handle under test runs on: a server, and a link to it that can be hurt.
type backing[S any] struct {
	server S
	link   *redistest.Link
}

// bench remembers the backing of each handle, so that the suite's faults can find it.
type bench[S any] struct {
	mu sync.Mutex
	of map[storetest.Store]backing[S]
}

func (b *bench[S]) open(t *testing.T, server S, o *redis.Options, maxTTL time.Duration) storetest.Store {
	link := &redistest.Link{}
	s := open(t, redistest.Client(t, link.Through(o)), redisstore.Config{Fleet: "fleet", MaxTTL: maxTTL})
	b.mu.Lock()
	defer b.mu.Unlock()
	b.of[s] = backing[S]{server, link}
	return s
}

func (b *bench[S]) server(s storetest.Store) S { return b.get(s).server }

func (b *bench[S]) get(s storetest.Store) backing[S] {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.of[s]
}

// faults are the ones that hurt the link alone.
func (b *bench[S]) faults() storetest.Faults {
	return storetest.Faults{
		DropReply: func(_ *testing.T, s storetest.Store) { b.get(s).link.DropReplies(1) },
		Delay:     func(_ *testing.T, s storetest.Store, d time.Duration) { b.get(s).link.Delay(d) },
		Freeze: func(_ *testing.T, s storetest.Store) func() {
			b.get(s).link.Freeze()
			return b.get(s).link.Thaw
		},
	}
}

func TestContractInVirtualTime(t *testing.T) {
	const maxTTL = 20 * time.Second
	b := &bench[*redistest.Virtual]{of: map[storetest.Store]backing[*redistest.Virtual]{}}
	faults := b.faults()
	faults.Step = func(_ *testing.T, s storetest.Store, d time.Duration) { b.server(s).Step(d) }
	faults.Wipe = func(_ *testing.T, s storetest.Store) { b.server(s).FlushAll() }
	faults.Snapshot = func(_ *testing.T, s storetest.Store) func() { return b.server(s).Snapshot() }
	faults.Kill = func(_ *testing.T, s storetest.Store) { b.server(s).Restart() }
	storetest.Run(t, storetest.Config{
		Open: func(t *testing.T) (storetest.Store, storetest.Store) {
			v := redistest.StartVirtual(t)
			return b.open(t, v, v.Options(), maxTTL), b.open(t, v, v.Options(), maxTTL)
		},
		MaxTTL: maxTTL, Bubble: synctest.Test, Faults: faults,
	})
}

// Each check has a server of its own, so that one can lose its data or its life without disturbing
// others. One handle speaks RESP2 and the other RESP3.
func TestContractOnARealServer(t *testing.T) {
	const unit, maxTTL = 500 * time.Millisecond, 8 * time.Second // generous: other tests may be using the machine
	b := &bench[*redistest.Server]{of: map[storetest.Store]backing[*redistest.Server]{}}
	faults := b.faults()
	faults.Wipe = func(_ *testing.T, s storetest.Store) { b.server(s).Admin("FLUSHALL") }
	faults.Snapshot = func(_ *testing.T, s storetest.Store) func() {
		server := b.server(s)
		server.Admin("SAVE")
		return func() { server.Stop(); server.Restart() }
	}
	faults.Kill = func(_ *testing.T, s storetest.Store) {
		server := b.server(s)
		server.Admin("SAVE")
		server.Stop()
		server.Restart()
	}
	storetest.Run(t, storetest.Config{
		Open: func(t *testing.T) (storetest.Store, storetest.Store) {
			server := redistest.Start(t)
			handle := func(protocol int) storetest.Store {
				o := server.Options()
				o.Protocol, o.MaxRetries = protocol, 3 // as clients have by default
				return b.open(t, server, o, maxTTL)
			}
			return handle(2), handle(3)
		},
		Unit: unit, MaxTTL: maxTTL, Faults: faults,
	})
}
