package storetest

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// Store is what the suite tests: the three contracts in one type. A store that lacks the registry
// or the status contract embeds a nil interface in its place and says so in Config.Without:
//
//	struct {
//		*MyLocks // keep the concrete type: optional capabilities are found by assertion
//		registry.Registry
//		status.Store
//	}
//
// Optional capabilities are found by type assertion on what Open returned: lease.Lister,
// lease.Revoker, lease.Watcher, lease.Provisioner, assigner.Targets,
// tick.Ticker, and Close, with or without an error result.
type Store interface {
	lease.Manager
	registry.Registry
	status.Store
}

// Capability names something that a check needs and a store may lack. Checks that need a missing
// one are skipped, and all missing ones are listed at the end of the run.
type Capability string

// The capabilities. The first four are assumed unless Config.Without names them; the next seven
// are found by assertion; the last eight are there where Config.Faults has the function.
const (
	// Sessions: the store itself remembers sessions, whatever handle asks. A lift over a plain lock does
	// not: there, Open returns one handle twice.
	Sessions Capability = "sessions"
	Registry Capability = "registry"
	Status   Capability = "status"
	// Lapses: a grant tells whose session ran out with the key before, which only metrics need.
	Lapses Capability = "lapses"

	Lists      Capability = "lease.Lister"
	Revokes    Capability = "lease.Revoker"
	Watches    Capability = "lease.Watcher"
	Provisions Capability = "lease.Provisioner"
	Targets    Capability = "assigner.Targets"
	Ticks      Capability = "tick.Ticker"
	Closes     Capability = "Close"

	CanDropReply Capability = "Faults.DropReply"
	CanDelay     Capability = "Faults.Delay"
	CanFreeze    Capability = "Faults.Freeze"
	CanSkew      Capability = "Faults.Skew"
	CanStep      Capability = "Faults.Step"
	CanWipe      Capability = "Faults.Wipe"
	CanRestore   Capability = "Faults.Snapshot"
	CanKill      Capability = "Faults.Kill"
)

// Config says how to open the store under test and what can be done to it. Only Open is required.
type Config struct {
	// Open returns two handles on one fresh, empty fleet. They must be as independent as two
	// processes would be: own clients, own connections, nothing shared in memory but the backing.
	// It is called once or more per check, concurrently. It registers its clean-up with
	// t.Cleanup, reports trouble with t.Fatal, and does not provision the fleet: the suite does.
	Open func(t *testing.T) (a, b Store)
	// Unit is the grain of time: the lifetimes in the checks are small multiples of it, and it is
	// the slack where something must have happened. Default 200 ms. On a loaded machine raise it.
	Unit time.Duration
	// MaxTTL is the longest session TTL of the fleets that Open makes; default lease.DefaultMaxTTL.
	// It must be at least 10 units. A store that freezes after losing data does so for this
	// long, so with Wipe, Snapshot or Kill a low value (25 units) keeps the run short.
	MaxTTL time.Duration
	// Bubble runs f in virtual time, for a store that needs no real network: synctest.Test. Nil
	// means real time. Open is then called inside the bubble.
	Bubble func(t *testing.T, f func(t *testing.T))
	// Lanes is how many checks run beside each other; default 8. Most of their time is waiting, so
	// this is more than t.Parallel would give on a small machine. In a bubble one check runs at a time.
	Lanes int
	// Faults are ways to hurt the store; each one that is given adds checks.
	Faults Faults
	// Without declares which of Sessions, Registry, Status and Lapses the store lacks.
	Without []Capability
	// Seed makes the random checks repeat; zero draws one. It is printed.
	Seed uint64
}

// Faults are ways to hurt a store. Each function is optional, gets a handle that Open returned, and
// works until the check ends; what it leaves behind is cleaned up with t.Cleanup. They are called
// between calls or during them, never twice at once for one fleet.
type Faults struct {
	// DropReply loses the reply of the next call through s: the store carries the call out, the
	// caller gets lease.ErrUnavailable.
	DropReply func(t *testing.T, s Store)
	// Delay makes every call through s take d longer, before the store sees it. Zero ends it.
	Delay func(t *testing.T, s Store, d time.Duration)
	// Freeze stops the store from answering s, as a stopped server or a silent network does: calls
	// hang until thaw is called.
	Freeze func(t *testing.T, s Store) (thaw func())
	// Skew sets the clock of the client behind s to d away from the true time.
	Skew func(t *testing.T, s Store, d time.Duration)
	// Step moves the store's own clock by d, once.
	Step func(t *testing.T, s Store, d time.Duration)
	// Wipe makes the store lose everything it knows of the fleet that s belongs to.
	Wipe func(t *testing.T, s Store)
	// Snapshot keeps what the store knows of the fleet. restore puts it back: everything written
	// in between is lost.
	Snapshot func(t *testing.T, s Store) (restore func())
	// Kill ends the store's server, or all connections to it, and brings it back with its data.
	Kill func(t *testing.T, s Store)
}

func (f Faults) have() map[Capability]bool {
	return map[Capability]bool{
		CanDropReply: f.DropReply != nil, CanDelay: f.Delay != nil, CanFreeze: f.Freeze != nil, CanSkew: f.Skew != nil,
		CanStep: f.Step != nil, CanWipe: f.Wipe != nil, CanRestore: f.Snapshot != nil, CanKill: f.Kill != nil,
	}
}

// resolve fills in the defaults and names the first field that cannot be used.
func (c Config) resolve() (Config, error) {
	if c.Open == nil {
		return c, fmt.Errorf("storetest: invalid Config.Open nil: it must return two handles on one fresh fleet")
	}
	if c.Unit < 0 || c.MaxTTL < 0 || c.Lanes < 0 {
		return c, fmt.Errorf("storetest: invalid Config: Unit %v, MaxTTL %v and Lanes %d must not be negative; zero means the default", c.Unit, c.MaxTTL, c.Lanes)
	}
	if c.Unit == 0 {
		c.Unit = 200 * time.Millisecond
	}
	if c.MaxTTL == 0 {
		c.MaxTTL = lease.DefaultMaxTTL
	}
	if c.Unit < 10*time.Millisecond {
		return c, fmt.Errorf("storetest: invalid Config.Unit %v: must be at least 10ms, or the machine's own noise would decide", c.Unit)
	}
	if c.MaxTTL < 10*c.Unit {
		return c, fmt.Errorf("storetest: invalid Config.MaxTTL %v: must be at least 10 units = %v; lower Unit or raise the fleet's MaxTTL", c.MaxTTL, 10*c.Unit)
	}
	for _, w := range c.Without {
		if w != Sessions && w != Registry && w != Status && w != Lapses {
			return c, fmt.Errorf("storetest: invalid Config.Without %q: only Sessions, Registry, Status and Lapses are declared; the others are found by themselves", w)
		}
	}
	if c.Lanes == 0 {
		c.Lanes = 8
	}
	if c.Bubble != nil {
		c.Lanes = 1
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	return c, nil
}
