package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// newTestRun is a fleet of real processes that the test itself disturbs.
func newTestRun(t *testing.T, args ...string) *run {
	t.Helper()
	o, err := parseOptions(args, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out, errs bytes.Buffer
	r, err := newRun(o, newScreen(o, &out, &errs))
	if err != nil {
		t.Fatal(err)
	}
	if err := r.screen.open(r); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.fleet.Shutdown(windDown, nil)
		r.screen.close()
		r.close()
		if t.Failed() {
			t.Logf("events:\n%s\nnotes:\n%s", &out, &errs)
		}
	})
	return r
}

func (r *run) addPods(t *testing.T, n int) {
	t.Helper()
	for range n {
		if _, err := r.fleet.Add(firstVersion); err != nil {
			t.Fatal(err)
		}
	}
}

// within waits for something that is promised to come true in time.
func (r *run) within(t *testing.T, limit time.Duration, what string, is func() bool) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	if err := r.until(ctx, is); err != nil {
		load, _ := r.witness.Balance()
		t.Fatalf("%s: not within %v; load %v, unowned %v", what, limit, load, r.witness.Unowned())
	}
	t.Logf("%s after %v", what, time.Since(began).Round(time.Millisecond))
}

// drained drains a pod to its end. A pod that does not end tells why in the notes.
func (r *run) drained(t *testing.T, name string) {
	t.Helper()
	r.fleet.mu.Lock()
	p := r.fleet.find(name)
	r.fleet.mu.Unlock()
	select {
	case <-r.fleet.Drain(name):
	case <-time.After(3*time.Second + slack()):
		_ = p.cmd.Process.Signal(syscall.SIGQUIT) // it prints its goroutines
		<-p.gone
		t.Fatalf("%s had not drained", name)
	}
}

func (r *run) evenWithin(t *testing.T, limit time.Duration) {
	t.Helper()
	r.within(t, limit, "balanced within one", r.balanced)
}

// slack is for machines that do other things as well while they test. When the bounds themselves
// are to be measured there is none.
func slack() time.Duration {
	if os.Getenv("TENURE_MEASURE") != "" {
		return 0
	}
	return 10 * time.Second
}

func TestFleetBalancesFailsOverAndHandsOver(t *testing.T) {
	r := newTestRun(t, "-workloads", "30", "-lease-ttl", testTTL)
	r.addPods(t, 3)
	r.evenWithin(t, 3*time.Second+slack())

	if err := r.fleet.Kill("pod-1"); err != nil {
		t.Fatal(err)
	}
	r.evenWithin(t, r.options.calm()+slack())

	r.addPods(t, 1)
	r.within(t, time.Second+slack(), "joined", func() bool { return r.witness.Takes("pod-4") })
	r.drained(t, "pod-2")
	r.evenWithin(t, 3*r.options.timing.LeaseTTL+3*time.Second+slack()) // what failed over rests for three TTLs

	s := r.witness.Summary()
	if s.SplitBrain > 0 || s.Unowned > 0 || s.Failovers < 10 || s.Handovers < 10 || s.Pods != 4 {
		t.Errorf("%+v", s)
	}
	t.Logf("%+v", s)
	if n := r.fleet.Crashed(); n > 0 {
		t.Errorf("%d pods ended by themselves", n)
	}
}

// A paused owner loses what it has, and proves nothing and harms nothing when it goes on.
func TestPausedPod(t *testing.T) {
	notShort(t)
	r := newTestRun(t, "-workloads", "10", "-lease-ttl", testTTL)
	r.addPods(t, 2)
	r.evenWithin(t, 3*time.Second+slack())
	if err := r.fleet.Pause("pod-1"); err != nil {
		t.Fatal(err)
	}
	r.within(t, r.options.calm()+slack(), "owned by the other", func() bool { return len(r.witness.Unowned()) == 0 })
	if err := r.fleet.Resume("pod-1"); err != nil {
		t.Fatal(err)
	}
	r.evenWithin(t, 3*r.options.timing.LeaseTTL+3*time.Second+slack()) // what failed over rests for three TTLs
	if s := r.witness.Summary(); s.SplitBrain > 0 || s.Unowned > 0 {
		t.Errorf("%+v", s)
	}
}

// The store loses all data under the fleet: holders keep what they have.
func TestWipedStore(t *testing.T) {
	notShort(t)
	r := newTestRun(t, "-workloads", "10", "-lease-ttl", testTTL)
	r.addPods(t, 2)
	r.evenWithin(t, 3*time.Second+slack())
	before := r.witness.Owners()
	if err := r.host.wipe(t.Context()); err != nil {
		t.Fatal(err)
	}
	time.Sleep(2 * r.options.timing.LeaseTTL) // the freeze, and as long again
	after := r.witness.Owners()
	for i := range before {
		if before[i].Pod != after[i].Pod || before[i].Token != after[i].Token || !after[i].Owned() {
			t.Errorf("%+v became %+v", before[i], after[i])
		}
	}
	if s := r.witness.Summary(); s.SplitBrain > 0 || s.StaleRefused > 0 {
		t.Errorf("%+v", s)
	}
}

// Pods are replaced one by one; what they hand over is measured from the old worker's return to the
// new one's start.
func TestHandovers(t *testing.T) {
	notShort(t)
	r := newTestRun(t, "-store", privateRedis(t))
	r.addPods(t, r.options.pods)
	r.evenWithin(t, 3*time.Second+slack())
	for r.witness.Summary().Handovers < 200 {
		if err := r.replace(t.Context(), r.fleet.Active()[0], firstVersion); err != nil {
			t.Fatal(err)
		}
		r.evenWithin(t, 3*time.Second+slack())
	}
	s := r.witness.Summary()
	t.Logf("%d handovers, median %v ms, 99%% within %v ms", s.Handovers, s.HandoverP50Ms, s.HandoverP99Ms)
	if s.SplitBrain > 0 || s.Unowned > 0 {
		t.Errorf("%+v", s)
	}
	if slack() == 0 && s.HandoverP50Ms > 20 {
		t.Errorf("the median handover took %v ms, more than 20 ms", s.HandoverP50Ms)
	}
}

// notShort leaves out what takes many seconds of real time.
func notShort(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes many seconds of real time")
	}
}

func TestChaosAsJSON(t *testing.T) {
	notShort(t)
	cmd, stdout, stderr := program(t, "-for", "20s", "-chaos", "-json", "-lease-ttl", testTTL)
	status := exitStatus(t, cmd.Run())
	events, s := verdict(t, stdout.String())
	if status != exitGood || s.SplitBrain != 0 || s.Unowned != 0 || s.Writes < 1000 || s.Workloads != 24 {
		t.Errorf("status %d, %+v\n%s", status, s, stderr)
	}
	seen := map[string]int{}
	for _, e := range events {
		seen[string(e.Event)]++
	}
	if seen["joined"] < 3 || seen["started"] < 25 || seen["stopped"] < 25 || s.Pods != seen["joined"] {
		t.Errorf("%v, %+v", seen, s)
	}
	if !strings.Contains(stderr.String(), "seed ") {
		t.Errorf("the seed is not printed: %s", stderr)
	}
}

func TestRollout(t *testing.T) {
	notShort(t)
	cmd, stdout, stderr := program(t, "-rollout", "-json", "-workloads", "30", "-lease-ttl", testTTL)
	status := exitStatus(t, cmd.Run())
	_, s := verdict(t, stdout.String())
	if status != exitGood || s.MovesPerWorkload == nil || *s.MovesPerWorkload < 1 || s.Pods != 6 {
		t.Fatalf("status %d, %+v\n%s", status, s, stderr)
	}
	t.Logf("%.2f moves per workload", *s.MovesPerWorkload)
}

// startUntil starts the program and waits until a line of its output has the text.
func startUntil(t *testing.T, text string, args ...string) *exec.Cmd {
	t.Helper()
	cmd, _, _ := program(t, args...)
	seen := make(chan struct{}, 1)
	cmd.Stdout = &prefixed{to: writerFunc(func(b []byte) {
		if strings.Contains(string(b), text) {
			select {
			case seen <- struct{}{}:
			default:
			}
		}
	})}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	select {
	case <-seen:
	case <-time.After(30 * time.Second):
		t.Fatalf("%q was not printed", text)
	}
	return cmd
}

type writerFunc func([]byte)

func (f writerFunc) Write(b []byte) (int, error) {
	f(b)
	return len(b), nil
}

func TestInterruptDrains(t *testing.T) {
	cmd := startUntil(t, `"started"`, "-json")
	pods := childrenOf(t, cmd.Process.Pid)
	if len(pods) != 3 {
		t.Fatalf("pods %v", pods)
	}
	if err := cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if status := exitStatus(t, cmd.Wait()); status != exitGood {
		t.Errorf("status %d", status)
	}
	allGone(t, pods)
}

func TestSecondInterruptStopsAtOnce(t *testing.T) {
	cmd := startUntil(t, `"started"`, "-json")
	pods := childrenOf(t, cmd.Process.Pid)
	for _, pid := range pods {
		stop(t, pid) // a pod that does not answer
	}
	for range 2 {
		if err := cmd.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
	began := time.Now()
	if status := exitStatus(t, cmd.Wait()); status != exitInterrupted {
		t.Errorf("status %d", status)
	}
	if d := time.Since(began); d > 2*time.Second {
		t.Errorf("it took %v", d)
	}
	allGone(t, pods)
}

func TestNoPodSurvivesItsParent(t *testing.T) {
	cmd := startUntil(t, `"started"`, "-json", "-pods", "2")
	pods := childrenOf(t, cmd.Process.Pid)
	stop(t, pods[0]) // not even one that is paused
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	allGone(t, pods)
}

func allGone(t *testing.T, pids []int) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		alive := slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { return !alive(pid) })
		if len(alive) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("still alive: %v", alive)
		}
	}
}
