package drain

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/fault"
)

// Subject is what a Drainer drains: a coordinator.Coordinator or a runner.Runner. Implementations are safe for
// concurrent use.
type Subject interface {
	// BeginDrain begins the drain and returns without waiting for its end. It works here at once, before
	// the store is told; an error says that the store could not be told, and the drain goes on.
	// Repeating it is no error and tells the store again.
	BeginDrain(ctx context.Context) error
	// Running returns the keys that run here, or whose lease is not yet let go.
	Running() []string
	// Drained is closed once a drain has begun and nothing runs here any more.
	Drained() <-chan struct{}
}

// Config is what may be chosen; its zero value means the defaults.
type Config struct {
	// Timeout is how long one call of Drain waits; zero means one minute. It should exceed the
	// workers' DrainTimeout + HardStop, which are 40 s by default.
	Timeout time.Duration
	// Interval is how often a waiting call looks for progress to report; zero means one second.
	Interval time.Duration
	// Observers are told of progress; see Observer. What is none is ignored, so that one list can
	// be given to every engine.
	Observers []any
	// Logger receives the begin, progress and end of a drain; nil means silence.
	Logger *slog.Logger
}

// markLimit bounds the writing of the drain mark; the drain itself waits for it no longer.
const markLimit = 5 * time.Second

// Drainer drains the instance. It is safe for concurrent use. Make one with New.
type Drainer struct {
	subjects  []Subject
	cfg       Config
	observers []Observer
	signal    Signal
	gate      call.Gate
	turn      chan struct{} // holds one token: whoever has it reports

	mu       sync.Mutex // guards what follows; no user code runs under it
	began    time.Time
	took     time.Duration // 0 until drained
	seen     map[string]bool
	mark     *attempt
	reported Progress
}

// attempt is one try at beginning the drain in every subject. Callers that come meanwhile join it.
type attempt struct {
	done chan struct{}
	err  error // set before done is closed
}

func (a *attempt) failed() bool {
	select {
	case <-a.done:
		return a.err != nil
	default:
		return false
	}
}

// New returns a Drainer of the subjects, at least one: usually the coordinator, and the runners that
// stand alone in the same process. It begins nothing. Errors match lease.ErrInvalid and name the field.
func New(cfg Config, subjects ...Subject) (*Drainer, error) {
	for _, f := range []struct {
		name  string
		value *time.Duration
		or    time.Duration
	}{{"Timeout", &cfg.Timeout, time.Minute}, {"Interval", &cfg.Interval, time.Second}} {
		if *f.value < 0 {
			return nil, fault.Invalid("drain.Config."+f.name, *f.value, fmt.Sprintf("must not be negative; zero means %v", f.or))
		}
		if *f.value == 0 {
			*f.value = f.or
		}
	}
	if len(subjects) == 0 || slices.Contains(subjects, nil) {
		return nil, fault.Invalid("drain subjects", subjects, "must be at least one, and none nil: pass the coordinator or the runner")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Drainer{subjects: slices.Clone(subjects), cfg: cfg, turn: make(chan struct{}, 1), seen: map[string]bool{}}
	for _, o := range cfg.Observers {
		if o, ok := o.(Observer); ok {
			d.observers = append(d.observers, o)
		}
	}
	return d, nil
}

// Draining returns a channel that is closed when Drain is called for the first time.
func (d *Drainer) Draining() <-chan struct{} { return d.signal.Draining() }

// Drain drains this instance: it marks it as draining, for the rest of its life, and returns nil
// when nothing runs here any more. Calls that come meanwhile or later join the same drain.
//
// A *TimeoutError (matches ErrTimeout) names what still runs after Config.Timeout. An error that matches
// the cause of ctx says that ctx ended first. In both cases the drain goes on, and Drain may be called again
// to wait on. Where ctx had ended before the call, nothing is begun.
//
// A mark that could not be written is no error, since this instance drains all the same: see Progress.MarkErr. It
// is tried again by the next call.
func (d *Drainer) Drain(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("drain: not begun: %w", context.Cause(ctx))
	}
	mark := d.begin(ctx)
	d.report()
	defer d.report()
	timeout := time.NewTimer(d.cfg.Timeout)
	defer timeout.Stop()
	tick := time.NewTicker(d.cfg.Interval)
	defer tick.Stop()
	events := []<-chan struct{}{mark.done}
	for _, s := range d.subjects {
		events = append(events, s.Drained())
	}
	for len(events) > 0 {
		select {
		case <-events[0]:
			events = events[1:]
		case <-tick.C:
			d.report()
		case <-timeout.C:
			return d.timedOut()
		case <-ctx.Done():
			return fmt.Errorf("drain: goes on without its caller: %w", context.Cause(ctx))
		}
	}
	return nil
}

// begin starts the drain, or joins the attempt that is under way or has succeeded.
func (d *Drainer) begin(ctx context.Context) *attempt {
	running := d.running() // before anything is told to stop: it belongs to what was drained
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.mark != nil && !d.mark.failed() {
		return d.mark
	}
	if d.signal.Request(ErrDraining) {
		d.began = time.Now()
	}
	d.note(running)
	d.mark = &attempt{done: make(chan struct{})}
	// The caller may go away; the mark is written all the same, within markLimit.
	go d.tell(context.WithoutCancel(ctx), d.mark)
	return d.mark
}

// tell begins the drain in all subjects at once, so that a slow store of one holds up no other.
func (d *Drainer) tell(ctx context.Context, a *attempt) {
	errs := make([]error, len(d.subjects))
	var all sync.WaitGroup
	for i, s := range d.subjects {
		all.Go(func() {
			_, errs[i] = call.Do(ctx, &d.gate, "begin drain", markLimit, func(ctx context.Context) (struct{}, error) {
				return struct{}{}, s.BeginDrain(ctx)
			})
		})
	}
	all.Wait()
	a.err = errors.Join(errs...)
	close(a.done)
	if a.err != nil {
		safely(func() { d.cfg.Logger.Warn("drain mark not written; draining all the same", "error", a.err) })
	}
}

// timedOut is a *TimeoutError, unless the drain ended at the same moment.
func (d *Drainer) timedOut() error {
	p := d.Progress()
	if p.Drained {
		return nil
	}
	safely(func() { d.cfg.Logger.Warn("drain timeout", "after", d.cfg.Timeout, "running", p.Running) })
	return &TimeoutError{After: d.cfg.Timeout, Running: p.Running}
}
