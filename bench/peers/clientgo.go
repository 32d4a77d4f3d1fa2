package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// inVirtualTime does one request in a bubble and ends the process. The package testing has bubbles for tests
// alone, so the request becomes the only test of a process.
func inVirtualTime(text string) {
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "virtual", F: func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			var r request
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
			took, err := elections(r)
			if err == nil {
				err = json.NewEncoder(os.Stdout).Encode(answer{Took: took})
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}}}, nil, nil)
}

// record is the lock in memory, instead of a Lease object behind an API server: no round trip is counted.
type record struct {
	mu   sync.Mutex
	held *resourcelock.LeaderElectionRecord
	raw  []byte
}

// handle is one candidate's hold of it. A dead one reaches it no more.
type handle struct {
	*record
	id   string
	dead func() bool
}

var errDead = errors.New("unreachable")

// Get implements resourcelock.Interface.
func (h *handle) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case h.dead():
		return nil, nil, errDead
	case h.held == nil:
		return nil, nil, apierrors.NewNotFound(schema.GroupResource{Resource: "leases"}, "lock")
	}
	held := *h.held
	return &held, h.raw, nil
}

// Create implements resourcelock.Interface.
func (h *handle) Create(ctx context.Context, r resourcelock.LeaderElectionRecord) error {
	return h.Update(ctx, r)
}

// Update implements resourcelock.Interface.
func (h *handle) Update(_ context.Context, r resourcelock.LeaderElectionRecord) error {
	raw, err := json.Marshal(r)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.dead() {
		return errDead
	}
	h.held, h.raw = &r, raw
	return nil
}

// RecordEvent implements resourcelock.Interface.
func (h *handle) RecordEvent(string) {}

// Identity implements resourcelock.Interface.
func (h *handle) Identity() string { return h.id }

// Describe implements resourcelock.Interface.
func (h *handle) Describe() string { return "in memory" }

// candidate runs an elector until its context ends.
type candidate struct {
	leads  chan time.Time
	cancel context.CancelFunc
	ended  chan struct{}
	mu     sync.Mutex
	dead   bool
}

func (c *candidate) kill() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.dead = true
}

func (c *candidate) isDead() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead
}

// contend starts a candidate with client-go's defaults (15 s, 10 s, 2 s), or with a TTL and the same
// proportions. ReleaseOnCancel is on, or there would be no graceful handover.
func contend(r *record, id string, ttl time.Duration) (*candidate, error) {
	c := &candidate{leads: make(chan time.Time, 1), ended: make(chan struct{})}
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: &handle{r, id, c.isDead}, LeaseDuration: ttl, RenewDeadline: ttl * 10 / 15, RetryPeriod: ttl * 2 / 15, ReleaseOnCancel: true,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(context.Context) { c.leads <- time.Now() },
			OnStoppedLeading: func() {},
		},
	})
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	c.cancel = cancel
	go func() {
		defer close(c.ended)
		elector.Run(ctx)
	}()
	return c, nil
}

// elections has leaders resign or die n times, and returns how long it took until another led.
func elections(r request) ([]float64, error) {
	ttl := r.TTL
	if ttl == 0 {
		ttl = 15 * time.Second
	}
	var took []float64
	for i := range r.N {
		lock := &record{}
		leader, err := contend(lock, fmt.Sprint("leader-", i), ttl)
		if err != nil {
			return nil, err
		}
		<-leader.leads
		follower, err := contend(lock, fmt.Sprint("follower-", i), ttl)
		if err != nil {
			return nil, err
		}
		time.Sleep(ttl + rand.N(ttl)) // at a random phase of its timers
		began := time.Now()
		if r.Op == "client-go-failover" {
			leader.kill()
		} else {
			leader.cancel()
		}
		took = append(took, ms((<-follower.leads).Sub(began)))
		leader.cancel()
		follower.cancel()
		<-leader.ended
		<-follower.ended
	}
	return took, nil
}
