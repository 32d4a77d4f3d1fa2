package health

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/tenure-go/tenure/internal/call"
	"github.com/tenure-go/tenure/internal/fault"
)

// Check is one of your own. Its Func gets a context that ends after Config.Timeout, and may be called by
// several requests at once. Nil is good.
type Check struct {
	Name string
	Func func(ctx context.Context) error
}

// Config is what may be chosen; its zero value means the defaults.
type Config struct {
	// Grace is for how long a loop may stand still before the process counts as wedged: 1 s to 24 h. Zero means
	// three times HeartbeatTTL for a coordinator, and 30 s for a runner.
	Grace time.Duration
	// UnreadyOnDrain makes the process unready from the begin of a drain: of a coordinator here, whoever marked it,
	// or of Draining.
	UnreadyOnDrain bool
	// Draining is closed when a drain begins, such as drain.Drainer.Draining. It matters under UnreadyOnDrain alone,
	// where the process has runners and no coordinator.
	Draining <-chan struct{}
	// FailOnStuck makes /livez fail while a worker ignores its cancellation: the restart ends it.
	FailOnStuck bool
	// LiveChecks and ReadyChecks are your own.
	LiveChecks, ReadyChecks []Check
	// Timeout bounds each check: 10 ms to 1 min, default 1 s. It should be below the platform's.
	Timeout time.Duration
}

// runnerGrace is Grace's default for what does not say how long its loop may rest.
const runnerGrace = 30 * time.Second

// Health answers for one process. It is safe for concurrent use. Make one with New.
type Health struct {
	cfg               Config
	subjects          []*subject
	liveOwn, readyOwn []*own

	mu     sync.Mutex
	reason string // why it is unready by hand; empty where it is not
}

// subject is an engine and what earlier looks at it have shown.
type subject struct {
	Subject
	gate call.Gate

	mu    sync.Mutex
	name  string    // as of the last look that was answered
	begun time.Time // first seen running
	still time.Time // since when it stands still; zero while it turns
}

// New returns the health of a process with these engines; there may be none. Errors match lease.ErrInvalid and
// name the field.
func New(cfg Config, subjects ...Subject) (*Health, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Second
	}
	if cfg.Timeout < 10*time.Millisecond || cfg.Timeout > time.Minute {
		return nil, fault.Invalid("health.Config.Timeout", cfg.Timeout, "must be between 10ms and 1m; zero means 1s")
	}
	if cfg.Grace != 0 && (cfg.Grace < time.Second || cfg.Grace > 24*time.Hour) {
		return nil, fault.Invalid("health.Config.Grace", cfg.Grace, "must be between 1s and 24h; zero means three heartbeat TTLs")
	}
	h := &Health{cfg: cfg}
	var err error
	if h.liveOwn, err = adopt("LiveChecks", cfg.LiveChecks); err != nil {
		return nil, err
	}
	if h.readyOwn, err = adopt("ReadyChecks", cfg.ReadyChecks); err != nil {
		return nil, err
	}
	for i, s := range subjects {
		if s == nil {
			return nil, fault.Invalid(fmt.Sprintf("subjects[%d]", i), "nil", "make one with health.Coordinator or health.Runner")
		}
		h.subjects = append(h.subjects, &subject{Subject: s, name: fmt.Sprintf("engine %d", i+1)})
	}
	return h, nil
}

// own is a check of the user's. Its gate bounds how many calls of it may hang.
type own struct {
	Check
	gate call.Gate
}

// call returns what the check says as a value, apart from what the bounded call says.
func (o *own) call(ctx context.Context) (why, _ error) {
	defer func() {
		if r := recover(); r != nil {
			why = fmt.Errorf("it panicked: %v", r)
		}
	}()
	return o.Func(ctx), nil
}

func adopt(field string, list []Check) ([]*own, error) {
	var out []*own
	for i, c := range list {
		if c.Func == nil || strings.TrimSpace(c.Name) == "" || strings.ContainsAny(c.Name, "\r\n") {
			return nil, fault.Invalid(fmt.Sprintf("health.Config.%s[%d]", field, i), c.Name, "must have a name of one line and a function")
		}
		out = append(out, &own{Check: c})
	}
	return out, nil
}

// SetUnready makes the process unready for a reason of your own, such as maintenance; an empty reason lifts
// that.
func (h *Health) SetUnready(reason string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reason = reason
}

// Live returns nil where the process is alive, or an error that says why a restart is due.
func (h *Health) Live(ctx context.Context) error { return h.live(ctx).err() }

// Ready returns nil where the process is ready, or an error that says why it is not.
func (h *Health) Ready(ctx context.Context) error { return h.ready(ctx).err() }

func (h *Health) live(ctx context.Context) Report {
	r := h.each(ctx, func(s *subject, v sight, err error) error {
		why := s.wedged(v, err, h.cfg.Grace)
		if why == nil && h.cfg.FailOnStuck && len(v.stuck) > 0 {
			why = fmt.Errorf("its work ignores its cancellation: %s", some(v.stuck))
		}
		return why
	})
	return r.with(h.ask(ctx, h.liveOwn)...)
}

func (h *Health) ready(ctx context.Context) Report {
	r := h.each(ctx, func(_ *subject, v sight, err error) error {
		switch {
		case err != nil:
			return err
		case v.unready != "":
			return errors.New(v.unready)
		case v.draining && h.cfg.UnreadyOnDrain:
			return errors.New("it is draining")
		}
		return nil
	})
	h.mu.Lock()
	reason := h.reason
	h.mu.Unlock()
	if reason != "" {
		r = r.with(result("switch", errors.New(reason)))
	}
	if h.cfg.UnreadyOnDrain && h.cfg.Draining != nil {
		select {
		case <-h.cfg.Draining:
			r = r.with(result("drain", errors.New("it has begun")))
		default:
			r = r.with(result("drain", nil))
		}
	}
	return r.with(h.ask(ctx, h.readyOwn)...)
}

// each looks at all engines at once and judges what it sees.
func (h *Health) each(ctx context.Context, judge func(*subject, sight, error) error) Report {
	out := make([]Result, len(h.subjects))
	var all sync.WaitGroup
	for i, s := range h.subjects {
		all.Go(func() {
			v, err := call.Do(ctx, &s.gate, "look", h.cfg.Timeout, func(context.Context) (sight, error) { return s.look(), nil })
			if err != nil {
				err = fmt.Errorf("it does not say how it is: %w", context.Cause(ctx))
				if ctx.Err() == nil {
					err = fmt.Errorf("it does not say how it is within %v", h.cfg.Timeout)
				}
			}
			why := judge(s, v, err)
			if v.name == "" {
				v.name = s.lastName()
			}
			out[i] = result(v.name, why)
			out[i].Stuck = v.stuck
		})
	}
	all.Wait()
	return Report{}.with(out...)
}

// ask makes the checks of the user's.
func (h *Health) ask(ctx context.Context, checks []*own) []Result {
	out := make([]Result, len(checks))
	var all sync.WaitGroup
	for i, c := range checks {
		all.Go(func() {
			why, err := call.Do(ctx, &c.gate, c.Name, h.cfg.Timeout, c.call)
			if err != nil {
				why = fmt.Errorf("no answer within %v", h.cfg.Timeout)
			}
			out[i] = result(c.Name, why)
		})
	}
	all.Wait()
	return out
}

func (s *subject) lastName() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.name
}

// wedged judges whether a loop stands still for longer than it may.
func (s *subject) wedged(v sight, failed error, grace time.Duration) error {
	now := time.Now()
	s.mu.Lock()
	defer s.mu.Unlock()
	if failed == nil {
		s.name = v.name
	}
	limit := grace
	if limit == 0 {
		limit = max(v.limit, 0)
	}
	if limit == 0 {
		limit = runnerGrace
	}
	if v.running && s.begun.IsZero() {
		s.begun = now
	}
	why := v.still
	if failed != nil {
		why = failed.Error()
	}
	if why == "" {
		s.still = time.Time{}
	} else if s.still.IsZero() {
		s.still = now
	}
	if why != "" && now.Sub(s.still) > limit {
		return fmt.Errorf("wedged for %v: %s", now.Sub(s.still).Round(time.Second), why)
	}
	if !v.beats || !v.running || failed != nil {
		return nil
	}
	if rests := now.Sub(later(v.turned, s.begun)); rests > limit {
		return fmt.Errorf("wedged: its loop has not turned for %v", rests.Round(time.Second))
	}
	return nil
}

// some names up to three of many.
func some(keys []string) string {
	const most = 3
	if len(keys) <= most {
		return strings.Join(keys, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(keys[:most], ", "), len(keys)-most)
}
