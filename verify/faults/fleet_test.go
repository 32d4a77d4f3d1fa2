package faults

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// fleet is a number of pods over one store.
type fleet struct {
	t       *testing.T
	witness *witness
	store   string
	keys    []string
	logs    string
	pods    []*pod
	started int
}

// pod is one process.
type pod struct {
	name  string
	cmd   *exec.Cmd
	stdin io.Closer
	gone  chan struct{}
}

// startFleet provisions the store, starts n pods and waits until all workloads run.
func startFleet(t *testing.T, store string, n int) *fleet {
	t.Helper()
	f := &fleet{t: t, witness: newWitness(t), store: store, logs: t.TempDir()}
	for i := range 12 {
		f.keys = append(f.keys, fmt.Sprintf("feed-%02d", i))
	}
	f.provision()
	t.Cleanup(f.end)
	for range n {
		f.add()
	}
	if n > 0 {
		f.balanced(n)
	}
	return f
}

// balanced waits until every workload runs and each of n pods has some, and begins to count anew.
func (f *fleet) balanced(n int) {
	f.t.Helper()
	for end := time.Now().Add(40 * time.Second); ; {
		f.settle(30 * time.Second)
		if pods := f.witness.pods(); len(pods) >= n {
			break
		} else if time.Now().After(end) {
			f.t.Fatalf("after 40 s the workloads are spread over %v, want %d pods", pods, n)
		}
	}
	f.witness.since()
}

func (f *fleet) provision() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 30*time.Second)
	defer cancel()
	s, err := openStore(f.store, nil)
	must(f.t, err)
	if m, ok := s.(interface{ Migrate(context.Context) error }); ok {
		must(f.t, m.Migrate(ctx))
	}
	must(f.t, s.(lease.Provisioner).Provision(ctx))
	if c, ok := s.(io.Closer); ok {
		must(f.t, c.Close())
	}
}

// add starts another pod.
func (f *fleet) add() *pod { return f.addOn(f.store) }

// addOn starts a pod that reaches the store by another way.
func (f *fleet) addOn(store string) *pod {
	return f.start(podConfig{Store: store, Witness: f.witness.url})
}

// start starts a pod, through another command if one is given.
func (f *fleet) start(cfg podConfig, through ...string) *pod {
	f.t.Helper()
	f.started++
	cfg.Name, cfg.Keys = fmt.Sprintf("pod-%d", f.started), f.keys
	text, err := json.Marshal(cfg)
	must(f.t, err)
	log, err := os.Create(filepath.Join(f.logs, cfg.Name))
	must(f.t, err)
	args := append(through, os.Args[0])
	p := &pod{name: cfg.Name, cmd: exec.Command(args[0], args[1:]...), gone: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), podEnv+"="+string(text))
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.stdin, err = p.cmd.StdinPipe()
	must(f.t, err)
	must(f.t, p.cmd.Start())
	go func() {
		_ = p.cmd.Wait() // ended by a signal: always an error
		log.Close()
		close(p.gone)
	}()
	f.pods = append(f.pods, p)
	return p
}

// end kills what is left, and shows the logs of a failed test.
func (f *fleet) end() {
	for _, p := range f.pods {
		p.kill()
	}
	if !f.t.Failed() {
		return
	}
	files, _ := filepath.Glob(f.logs + "/*") // the pattern is a good one
	for _, file := range files {
		text, _ := os.ReadFile(file)
		f.t.Logf("%s:\n%s", filepath.Base(file), tail(text, 6000))
	}
}

func tail(b []byte, n int) []byte { return b[max(0, len(b)-n):] }

func (p *pod) signal(s syscall.Signal) { _ = p.cmd.Process.Signal(s) } // it may be gone already

func (p *pod) kill() {
	p.signal(syscall.SIGKILL)
	<-p.gone
	p.stdin.Close()
}

// stop ends the pod as an orchestrator does.
func (p *pod) stop() { p.signal(syscall.SIGTERM) }

// freeze pauses the pod for a while.
func (p *pod) freeze(d time.Duration) {
	p.signal(syscall.SIGSTOP)
	time.Sleep(d)
	p.signal(syscall.SIGCONT)
}

// settle waits until every workload has a writer, and has had the same ones for a while.
func (f *fleet) settle(limit time.Duration) {
	f.t.Helper()
	end := time.Now().Add(limit)
	calm := time.Now()
	for time.Since(calm) < ttl {
		silent := f.witness.silent(f.keys, time.Now())
		if len(silent) > 0 {
			calm = time.Now()
		}
		if time.Now().After(end) {
			f.t.Fatalf("not everything runs after %v: nobody writes to %v", limit, silent)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
