package redisstore_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// The fault tests run a fleet of keepers on private servers, hurt the servers, and watch from outside
// the whole time: two holders of one key that both believe in their term, or a token that falls, fail the
// test whatever it is about. Each test then says what else must have come of the fault.

// faultTTL is the life of a session in these tests. It is long enough for a busy machine.
const faultTTL = 3 * time.Second

var faultTiming = lease.Timing{
	LeaseTTL: faultTTL, RenewInterval: faultTTL / 10, CallTimeout: faultTTL / 5, Margin: faultTTL / 10,
	HeartbeatTTL: faultTTL, HeartbeatInterval: faultTTL / 10,
}

// fleet is a number of keepers, each with its own client, that contend for the same keys.
type fleet struct {
	t       *testing.T
	keys    []string
	holders []*holder

	mu     sync.Mutex
	tokens map[string]uint64 // the newest token that was granted, by key
	lost   map[lease.Reason]int
}

// holder is one keeper and what it believes to hold.
type holder struct {
	f      *fleet
	id     instance.ID
	store  *redisstore.Store
	keeper *lease.Keeper

	mu    sync.Mutex
	holds map[string]*lease.Hold
}

// claimant is a holder's wish for one key: it holds on for as long as it may, and then tries again.
type claimant struct {
	h   *holder
	key string

	mu    sync.Mutex
	claim *lease.Claim
}

// startFleet starts n keepers on clients from connect. MaxTTL is the TTL of all sessions.
func startFleet(t *testing.T, n, keys int, connect func(i int) redis.UniversalClient) *fleet {
	t.Helper()
	f := &fleet{t: t, keys: names(keys), tokens: map[string]uint64{}, lost: map[lease.Reason]int{}}
	for i := range n {
		store := open(t, connect(i), redisstore.Config{Fleet: "fleet", MaxTTL: faultTTL, AllowEviction: true})
		if i == 0 {
			must(t, store.Provision(ctx))
		}
		f.add(fmt.Sprintf("holder-%d", i), store)
	}
	f.witness()
	return f
}

func (f *fleet) add(name string, store *redisstore.Store) *holder {
	f.t.Helper()
	h := &holder{f: f, id: instance.ID(name), store: store, holds: map[string]*lease.Hold{}}
	var err error
	h.keeper, err = lease.NewKeeper(store, h.id, lease.KeeperConfig{Timing: faultTiming})
	must(f.t, err)
	run, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- h.keeper.Run(run) }()
	f.t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			f.t.Errorf("the keeper of %s ended with %v", name, err)
		}
	})
	for _, key := range f.keys {
		c := &claimant{h: h, key: key}
		c.mu.Lock()
		c.claim, err = h.keeper.Claim(key, c)
		c.mu.Unlock()
		must(f.t, err)
	}
	f.holders = append(f.holders, h)
	return h
}

// Granted implements lease.Claimant: tokens only grow, across the whole fleet.
func (c *claimant) Granted(hold *lease.Hold) {
	f, l := c.h.f, hold.Lease()
	f.mu.Lock()
	if last := f.tokens[l.Key]; l.Token <= last {
		f.t.Errorf("%s was granted %q under token %d after %d", c.h.id, l.Key, l.Token, last)
	}
	f.tokens[l.Key] = l.Token
	f.mu.Unlock()
	c.h.mu.Lock()
	defer c.h.mu.Unlock()
	c.h.holds[l.Key] = hold
}

// Refused implements lease.Claimant.
func (c *claimant) Refused(lease.Refusal) {}

// Lost implements lease.Claimant. The work has stopped; say so and try again.
func (c *claimant) Lost(hold *lease.Hold, why *lease.LostError) {
	c.h.f.mu.Lock()
	c.h.f.lost[why.Reason]++
	c.h.f.mu.Unlock()
	hold.Release()
}

// Released implements lease.Claimant.
func (c *claimant) Released(*lease.Hold) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.claim.Contend()
}

// witness looks all the time, from outside, for two holders of one key.
func (f *fleet) witness() {
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			case <-time.After(2 * time.Millisecond):
			}
			owners := map[string][]lease.Lease{}
			for _, h := range f.holders {
				for key, hold := range h.current() {
					if hold.Valid() {
						owners[key] = append(owners[key], hold.Lease())
					}
				}
			}
			for key, of := range owners {
				// Read one after the other: only a pair that still stands is one.
				if len(of) > 1 && f.standing(key) > 1 {
					f.t.Errorf("%q has two owners: %+v", key, of)
					return
				}
			}
		}
	}()
	f.t.Cleanup(func() { close(stop); <-done })
}

func (f *fleet) standing(key string) (n int) {
	for _, h := range f.holders {
		if hold := h.current()[key]; hold != nil && hold.Valid() {
			n++
		}
	}
	return n
}

func (h *holder) current() map[string]*lease.Hold {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.holds)
}

// terms are the leases that are validly held now, by key.
func (f *fleet) terms() map[string]lease.Lease {
	terms := map[string]lease.Lease{}
	for _, h := range f.holders {
		for key, hold := range h.current() {
			if hold.Valid() {
				terms[key] = hold.Lease()
			}
		}
	}
	return terms
}

// settle waits until every key has an owner.
func (f *fleet) settle() map[string]lease.Lease {
	f.t.Helper()
	for end := time.Now().Add(60 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if terms := f.terms(); len(terms) == len(f.keys) {
			return terms
		}
		if time.Now().After(end) {
			f.t.Fatalf("after a minute only %d of %d keys have an owner; lost so far: %v", len(f.terms()), len(f.keys), f.losses())
		}
	}
}

func (f *fleet) losses() map[lease.Reason]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return maps.Clone(f.lost)
}

// kept fails the test unless every term of before still goes on: the same owner and the same token.
func (f *fleet) kept(before map[string]lease.Lease) {
	f.t.Helper()
	now := f.terms()
	for _, key := range slices.Sorted(maps.Keys(before)) {
		if now[key] != before[key] {
			f.t.Fatalf("the term %+v did not survive, now there is %+v; lost: %v", before[key], now[key], f.losses())
		}
	}
}

// renewedAll fails the test where some terms ended although their tokens should have changed.
func (f *fleet) renewedAll(before, now map[string]lease.Lease) {
	f.t.Helper()
	for key, l := range before {
		if now[key].Token <= l.Token {
			f.t.Errorf("%q went from token %d to %d", key, l.Token, now[key].Token)
		}
	}
}

// incarnation is the newest that any keeper has seen.
func (f *fleet) incarnation() (n uint64) {
	for _, h := range f.holders {
		n = max(n, h.keeper.State().Incarnation)
	}
	return n
}

// turned waits until every keeper that holds something has seen a newer incarnation than before.
func (f *fleet) turned(before uint64) {
	f.t.Helper()
	eventually(f.t, func() bool {
		for _, h := range f.holders {
			if s := h.keeper.State(); s.Held > 0 && s.Incarnation <= before {
				return false
			}
		}
		return true
	}, "the loss of data went unnoticed")
}

// thawed waits until the freeze is over, with half a TTL to spare.
func (f *fleet) thawed() {
	f.t.Helper()
	eventually(f.t, func() bool {
		for _, h := range f.holders {
			if h.keeper.State().FrozenFor > 0 {
				return false
			}
		}
		return true
	}, "the freeze does not end")
	time.Sleep(faultTTL / 2)
}

// patient are a client's options as an application would have them: retries, and short timeouts.
func patient(addr string) *redis.Options {
	o := redisOptions(addr)
	o.MaxRetries = 1
	o.DialTimeout, o.ReadTimeout = faultTTL/4, faultTTL/4
	o.DialerRetries = 1
	return o
}
