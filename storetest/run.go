package storetest

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
)

// check is one sentence of the contract and the function that tries it.
type check struct {
	id       string // letter and number, such as "O07"
	name     string // the sentence in short, as it reads in the subtest's name
	sentence string // what the contract promises
	needs    []Capability
	slow     bool // waits for more than five units: skipped by -short in real time
	virgin   bool // the fleet is not provisioned before
	run      func(e *env)
}

func (c check) title() string { return c.id + "_" + c.name }

// reporter is the part of testing.TB that checks use, so that a check can be run against a store
// that must fail it.
type reporter interface {
	Helper()
	Logf(format string, args ...any)
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// Run tries every check on the store, each as a subtest of its own on a fresh fleet, and lists at
// the end what was skipped for want of a capability.
func Run(t *testing.T, cfg Config) {
	t.Helper()
	cfg, err := cfg.resolve()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("storetest: seed %d, unit %v", cfg.Seed, cfg.Unit)
	skipped := &skips{}
	lanes := make(chan struct{}, cfg.Lanes)
	var wg sync.WaitGroup
	for _, c := range catalogue() {
		if c.slow && testing.Short() && cfg.Bubble == nil {
			skipped.add("-short", c)
			continue
		}
		lanes <- struct{}{}
		wg.Go(func() {
			defer func() { <-lanes }()
			t.Run(c.title(), func(t *testing.T) { one(t, cfg, c, skipped) })
		})
	}
	wg.Wait()
	if list := skipped.String(); list != "" {
		t.Log("storetest: skipped for want of a capability:" + list)
	}
}

func one(t *testing.T, cfg Config, c check, skipped *skips) {
	inTime(t, cfg, func(t *testing.T) {
		const tries = 12
		for try := 1; ; try++ {
			e := newEnv(t, cfg, c, t)
			if missing := e.missing(); missing != "" {
				skipped.add(missing, c)
				t.Skipf("the store lacks %s", missing)
			}
			slow := e.try()
			switch {
			case slow == "":
				return
			case try == tries:
				t.Fatalf("%s; tried %d times: the machine is too slow for these TTLs, raise Config.Unit and MaxTTL", slow, tries)
			}
			t.Logf("%s; trying again on a fresh fleet", slow)
		}
	})
}

// try runs the check. It answers why where the machine was too slow to tell anything.
func (e *env) try() (slow tooSlow) {
	defer e.explain(e.t.Failed)
	defer e.cancel()
	defer func() {
		if r := recover(); r != nil {
			why, ok := r.(tooSlow)
			if !ok {
				panic(r)
			}
			slow = why
		}
	}()
	e.run()
	return ""
}

// tooSlow is thrown where a session ran out because the check itself was slow: that is no fault of the store.
type tooSlow string

func inTime(t *testing.T, cfg Config, f func(t *testing.T)) {
	if cfg.Bubble != nil {
		cfg.Bubble(t, f)
		return
	}
	f(t)
}

// random returns the check's own source, so that one check repeats without the others.
func (c check) random(seed uint64) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(c.id))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

type skips struct {
	mu     sync.Mutex
	checks map[Capability][]string
}

func (s *skips) add(why Capability, c check) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.checks == nil {
		s.checks = map[Capability][]string{}
	}
	s.checks[why] = append(s.checks[why], c.id)
}

func (s *skips) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var lines []string
	for why, ids := range s.checks {
		slices.Sort(ids)
		lines = append(lines, fmt.Sprintf("\n  %-20s %s", why, strings.Join(ids, " ")))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}
