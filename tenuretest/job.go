package tenuretest

import (
	"context"
	"log/slog"
	"runtime/debug"
	"sync"
	"testing"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// JobConfig holds what is optional of a Job. The zero value is the documented defaults.
type JobConfig struct {
	// Key is the key that is held; default "job".
	Key string
	// Drainable is told the moment a drain begins, as that of a runner.Spec.
	Drainable drain.Drainable
	// Timing of the runner; see its fields for the defaults. Outside a bubble a short DrainTimeout saves waiting.
	Timing lease.Timing
	// Logger receives what the runner does; nil means silent.
	Logger *slog.Logger
	// Observers are told of the runner's events; see runner.Config.
	Observers []any
	// Patience is how long Start, Wait and the others wait for something before they fail the test;
	// default one minute, or DrainTimeout + HardStop where that is longer.
	Patience time.Duration
}

// Job is one term of a Work under test. Nothing about it is a fake: a runner runs the work under
// a lease of a memory store, and what the methods do to it is done to the store or to the runner. It
// is safe for concurrent use, but for the methods that may fail the test: they belong on the test's
// own goroutine.
type Job struct {
	t      testing.TB
	cfg    JobConfig
	work   runner.Work
	memory *memory.Store
	faults *Faults
	runner *runner.Runner
	stop   context.CancelFunc // of the runner's Run

	began    chan struct{} // closed when the work was called
	returned chan struct{} // closed when it has returned
	ended    chan struct{} // closed when the runner's Run has returned

	once sync.Once // a job is one term: the runner's next one is none of ours

	// Set before began, returned and ended are closed.
	ctx     context.Context
	term    *runner.Term
	err     error
	drained bool // the drain had begun when the work returned

	mu     sync.Mutex
	looked bool // the test knows how the work ended
}

// Start runs work under a term of its own and returns once the work was called. It does so inside a
// synctest bubble and outside. When the test ends, a work that still runs loses its lease and is
// waited for: the test fails where it does not return, or where it had failed by itself and nobody
// called Wait.
func Start(t testing.TB, work runner.Work, cfg JobConfig) *Job {
	t.Helper()
	if cfg.Key == "" {
		cfg.Key = "job"
	}
	timing, err := cfg.Timing.Resolve()
	switch {
	case err != nil:
		t.Fatalf("Start: %v", err)
	case cfg.Patience < 0:
		t.Fatalf("Start: JobConfig.Patience is %v: must not be negative; zero means the default", cfg.Patience)
	case work == nil:
		t.Fatalf("Start: the work is nil: pass the function to test")
	}
	cfg.Timing = timing
	if cfg.Patience == 0 {
		cfg.Patience = max(time.Minute, timing.DrainTimeout+timing.HardStop+timing.CallTimeout)
	}
	return start(t, work, cfg, newStore(t, timing.LeaseTTL))
}

// start begins a term on a store.
func start(t testing.TB, work runner.Work, cfg JobConfig, store *memory.Store) *Job {
	t.Helper()
	j := &Job{
		t: t, cfg: cfg, work: work, memory: store,
		began: make(chan struct{}), returned: make(chan struct{}), ended: make(chan struct{}),
	}
	way, faults := faulty(t, store.Handle())
	j.faults = faults
	spec := runner.Spec{Key: cfg.Key, Work: j.run}
	if cfg.Drainable != nil {
		spec.Drainable = requester{j}
	}
	var err error
	j.runner, err = runner.New(way, instance.New(), spec, runner.Config{
		Timing: cfg.Timing, Restart: runner.Never, Status: way, Logger: cfg.Logger, Observers: cfg.Observers,
	})
	if err != nil {
		t.Fatalf("Start: %v", err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context())) // the cleanup ends it, in its own way
	j.stop = stop
	t.Cleanup(j.cleanup)
	go func() {
		defer close(j.ended)
		_ = j.runner.Run(ctx) // the work's error, or that it is stuck: both are known here
	}()
	j.await(j.began, "the term has not begun")
	return j
}

// run is the runner's Work: the user's, once.
func (j *Job) run(ctx context.Context, term *runner.Term) (err error) {
	first := false
	j.once.Do(func() { first = true })
	if !first {
		return nil // a term after the one that was lost: nobody asked for it
	}
	err = runner.ErrExited // unless the work returns or panics
	defer func() {
		if p := recover(); p != nil {
			err = &runner.PanicError{Value: p, Stack: debug.Stack()}
			j.finish(ctx, term, err)
			panic(p) // for the runner to see as well
		}
		j.finish(ctx, term, err)
	}()
	j.ctx, j.term = ctx, term
	close(j.began)
	return j.work(ctx, term)
}

// finish notes how the work ended, and ends the runner where it would go on to another term.
func (j *Job) finish(ctx context.Context, term *runner.Term, err error) {
	j.err, j.drained = err, asked(term)
	close(j.returned)
	if ctx.Err() != nil || j.drained {
		j.stop()
	}
}

// requester passes the request to drain on, unless it comes of our own stop after the work's return.
type requester struct{ job *Job }

func (r requester) RequestDrain() {
	select {
	case <-r.job.returned:
		if !r.job.drained {
			return
		}
	default:
	}
	r.job.cfg.Drainable.RequestDrain()
}

// asked reports whether a drain has begun.
func asked(term *runner.Term) bool {
	select {
	case <-term.Draining():
		return true
	default:
		return false
	}
}
