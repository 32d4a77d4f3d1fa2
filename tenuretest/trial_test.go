package tenuretest_test

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"testing/synctest"
)

// trial is a test that may fail: it collects what would have failed it.
type trial struct {
	testing.TB
	mu       sync.Mutex
	failures []string
	cleanups []func()
}

func (t *trial) Helper() {}

func (t *trial) Errorf(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.failures = append(t.failures, fmt.Sprintf(format, args...))
}

func (t *trial) Fatalf(format string, args ...any) {
	t.Errorf(format, args...)
	runtime.Goexit()
}

func (t *trial) Cleanup(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.cleanups = append(t.cleanups, f)
}

// try runs a test that may fail, and its clean-up, and returns the failures.
func try(t testing.TB, test func(t testing.TB)) []string {
	inner := &trial{TB: t}
	apart := func(f func()) {
		done := make(chan struct{})
		go func() { defer close(done); f() }()
		<-done
	}
	apart(func() { test(inner) })
	for len(inner.cleanups) > 0 {
		last := len(inner.cleanups) - 1
		f := inner.cleanups[last]
		inner.cleanups = inner.cleanups[:last]
		apart(f)
	}
	return inner.failures
}

// fails checks that a test fails just once, with a message that has all the words.
func fails(t *testing.T, test func(t testing.TB), words ...string) {
	t.Helper()
	got := try(t, test)
	if len(got) != 1 {
		t.Fatalf("%d failures, want 1:\n%s", len(got), strings.Join(got, "\n"))
	}
	for _, w := range words {
		if !strings.Contains(got[0], w) {
			t.Errorf("the failure does not say %q:\n%s", w, got[0])
		}
	}
}

// passes checks that a test does not fail.
func passes(t *testing.T, test func(t testing.TB)) {
	t.Helper()
	for _, f := range try(t, test) {
		t.Error(f)
	}
}

// pass lets virtual time pass, and everything that is due then happen.
func pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}
