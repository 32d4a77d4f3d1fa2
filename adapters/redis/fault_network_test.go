package redisstore_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/adapters/redis/internal/redistest"
)

// The network of each holder is hurt at random: replies lost, requests delayed, kept back and delivered late,
// connections cut. The witness watches for overlaps and falling tokens. Expected besides: once the network
// is healthy, every key has an owner, and the server never believed that it had lost data.
func TestFaultNetwork(t *testing.T) {
	t.Parallel()
	length := 12 * time.Second
	if testing.Short() {
		length = 3 * time.Second
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	server := redistest.Start(t)
	links := make([]*redistest.Link, 4)
	f := startFleet(t, len(links), 8, func(i int) redis.UniversalClient {
		links[i] = &redistest.Link{}
		return redistest.Client(t, links[i].Through(patient(server.Addr)))
	})
	f.settle()
	in := f.incarnation()
	for end := time.Now().Add(length); time.Now().Before(end); {
		link := links[r.IntN(len(links))]
		pause := time.Duration(r.Int64N(int64(faultTTL * 3 / 2)))
		switch r.IntN(5) {
		case 0:
			link.DropReplies(1 + r.IntN(5))
		case 1:
			link.Delay(time.Duration(r.Int64N(int64(faultTTL / 3))))
		case 2:
			link.Freeze()
			time.AfterFunc(pause, link.Thaw)
		case 3:
			link.Cut()
			time.AfterFunc(pause, link.Mend)
		case 4:
			for _, h := range f.holders { // and some honest traffic
				for _, hold := range h.current() {
					if r.IntN(4) == 0 {
						hold.Release()
					}
				}
			}
		}
		time.Sleep(time.Duration(r.Int64N(int64(faultTTL / 4))))
	}
	time.Sleep(faultTTL * 3 / 2) // the last of the timers above
	for _, link := range links {
		link.DropReplies(0)
		link.Delay(0)
		link.Thaw()
		link.Mend()
	}
	f.settle()
	if now := f.incarnation(); now != in {
		t.Errorf("the incarnation went from %d to %d", in, now)
	}
	t.Logf("lost: %v", f.losses())
}
