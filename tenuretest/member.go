package tenuretest

import (
	"context"
	"errors"
	"sync"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/runner"
)

// condition is how an instance of a fleet is doing.
type condition string

const (
	running condition = "running"
	paused  condition = "paused"
	stopped condition = "stopped"
	killed  condition = "killed"
)

// member is one instance of a fleet. Between it and the store are two layers of faults: those that
// the test injects, and below them the gate, which is shut when the process is dead or stands still.
type member[W any] struct {
	*coordinator.Coordinator[W]
	fleet  *Fleet[W]
	id     instance.ID
	clock  *pausable
	faults *Faults
	gate   *Faults

	ctx  context.Context // of Run
	stop context.CancelFunc
	dead context.Context // ends when the process is killed
	kill context.CancelFunc
	done chan struct{}
	err  error // of Run, once done is closed

	mu   sync.Mutex
	now  condition
	shut *Injected // the gate's fault while paused
}

// newMember makes an instance that does not run yet.
func (f *Fleet[W]) newMember(i instance.Instance) *member[W] {
	f.t.Helper()
	m := &member[W]{fleet: f, id: i.ID, clock: newPausable(string(i.ID)), now: running, done: make(chan struct{})}
	inner, gate := faulty(f.t, f.memory.Handle())
	way, faults := faulty(f.t, inner)
	faults.memory = f.memory
	m.gate, m.faults = gate, faults
	m.ctx, m.stop = context.WithCancel(context.Background())
	m.dead, m.kill = context.WithCancel(context.Background())
	cfg := f.cfg.Coordinator
	cfg.Instance, cfg.Clock = i, m.clock
	var err error
	if m.Coordinator, err = coordinator.New(way, f.workloads(), m.work, cfg); err != nil {
		f.t.Fatalf("Start of %q: %v", i.ID, err)
	}
	return m
}

func (m *member[W]) start() {
	go func() {
		defer close(m.done)
		m.err = m.Run(m.ctx)
	}()
}

// wait waits for the end of Run, which comes in bounded time whatever the workers do.
func (m *member[W]) wait() error {
	<-m.done
	return m.err
}

// is reports whether the instance is in the condition.
func (m *member[W]) is(c condition) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.now == c
}

func (m *member[W]) become(c condition) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.now = c
}

// errAborted is what the history says of a work that did not return in the ordinary way.
var errAborted = errors.New("panic or runtime.Goexit")

// work is the user's, under the eyes of the witness.
func (m *member[W]) work(ctx context.Context, term *runner.Term, w W) (err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(m.dead, func() { cancel(ErrKilled) })()
	s := m.fleet.witness.enter(ctx, m.id, term)
	err = errAborted
	defer func() { m.fleet.witness.exit(s, err) }()
	return m.fleet.work(ctx, term, w)
}
