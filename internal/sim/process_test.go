package sim

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/runner"
)

// leaderKey is the workload of the singleton runners, beside the catalogue.
const leaderKey = "leader"

// process is one instance: a coordinator and a runner of one workload, each with a client of its own, on one machine
// with one network.
type process struct {
	w      *world
	slot   int
	id     instance.ID
	cohort int // its version
	dice   dice
	clock  *machine
	link   *link
	fleet  *client
	lead   *client

	coordinator *coordinator.Coordinator[string]
	leader      *runner.Runner

	ctx  context.Context // of both Runs
	stop context.CancelFunc
	dead chan struct{} // closed when it was killed
	done chan struct{} // closed when both Runs have returned
	errs [2]error

	mu      sync.Mutex
	gate    chan struct{} // not nil while it stands still; closed when it goes on
	still   bool
	resumed time.Time
	told    time.Time // to stop; zero until then
	killed  bool
	marked  bool // drained on purpose
	left    bool // a Leave of it has arrived
	belated bool // after that a heartbeat of it arrived that it had given up
	ran     map[string]bool
}

// start makes an instance in a slot and runs it.
func (w *world) start(slot int, version int) *process {
	w.born++
	p := &process{
		w: w, slot: slot, cohort: version, id: instance.ID(fmt.Sprintf("%s%d", slotName(slot), w.born)),
		dead: make(chan struct{}), done: make(chan struct{}), ran: map[string]bool{},
	}
	p.dice = dice(w.s.Seed).of(string(p.id))
	rate := 1.0
	if len(w.s.Rates) > slot {
		rate += w.s.Rates[slot] * float64(w.timing.Margin) / float64(w.timing.LeaseTTL)
	}
	p.clock = newMachine(rate, w.s.Sleepers, p.dice.of("clock"))
	p.link = &link{p: p, streams: map[*stream]struct{}{}}
	p.fleet, p.lead = newClient(p, "fleet"), newClient(p, "leader")
	p.ctx, p.stop = context.WithCancel(context.Background())
	backoff := runner.Backoff{Min: 300 * time.Millisecond, Max: 2 * time.Second}

	store := p.fleet.face()
	var err error
	p.coordinator, err = coordinator.New(store, w.workloads(), func(ctx context.Context, t *runner.Term, key string) error {
		return p.work(ctx, t, p.fleet)
	}, coordinator.Config{
		Instance: instance.Instance{ID: p.id, Version: fmt.Sprint("v", version)}, Timing: w.timing, Backoff: backoff, Clock: p.clock,
	})
	if err != nil {
		w.fail("set-up", "%v", err)
	}
	leading := p.lead.face()
	p.leader, err = runner.New(leading, p.id, runner.Spec{Key: leaderKey, Work: func(ctx context.Context, t *runner.Term) error {
		return p.work(ctx, t, p.lead)
	}}, runner.Config{Timing: w.timing, Backoff: backoff, Status: leading, Clock: p.clock})
	if err != nil {
		w.fail("set-up", "%v", err)
	}
	w.note("%s starts", p.id)
	w.slots[slot] = p
	w.all = append(w.all, p)
	p.run()
	return p
}

// run runs both engines, and holds the end of their Runs to S7 and S4.
func (p *process) run() {
	both := make(chan struct{}, 2)
	for i, run := range []func(context.Context) error{p.coordinator.Run, p.leader.Run} {
		go func() {
			p.errs[i] = run(p.ctx)
			both <- struct{}{}
		}()
	}
	go func() {
		<-both
		<-both
		close(p.done)
	}()
}

// tell tells the process to stop.
func (p *process) tell() {
	p.mu.Lock()
	if p.told.IsZero() {
		p.told = time.Now()
	}
	p.mu.Unlock()
	p.w.note("%s is told to stop", p.id)
	p.stop()
}

// kill ends the process. Go cannot end its goroutines: from now on nothing that it does reaches anybody, what it
// has sent is still on its way, and nobody looks at it any more.
func (p *process) kill() {
	p.mu.Lock()
	if p.killed {
		p.mu.Unlock()
		return
	}
	p.killed = true
	p.mu.Unlock()
	p.w.note("%s is killed", p.id)
	close(p.dead)
	p.thaw()
	p.stop()
}

// freeze lets the process stand still.
func (p *process) freeze(asleep bool) bool {
	p.mu.Lock()
	if p.still || p.killed {
		p.mu.Unlock()
		return false
	}
	p.still, p.gate = true, make(chan struct{})
	p.mu.Unlock()
	p.clock.freeze(asleep)
	return true
}

// thaw lets it go on.
func (p *process) thaw() {
	p.mu.Lock()
	if !p.still {
		p.mu.Unlock()
		return
	}
	p.still, p.resumed = false, time.Now()
	close(p.gate)
	p.mu.Unlock()
	p.clock.thaw()
}

// going waits while the process stands still. Those who waited go on one after another.
func (p *process) going(d dice) error {
	for {
		p.mu.Lock()
		gate, still, killed := p.gate, p.still, p.killed
		p.mu.Unlock()
		switch {
		case killed:
			return errDead
		case !still:
			return nil
		}
		<-gate
		wait(d.of("resumed").between(time.Microsecond, time.Millisecond))
	}
}

// awake reports whether the process is alive and has had a moment to find out what happened while it stood still.
func (p *process) awake() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed && !p.still && time.Since(p.resumed) > reaction
}

func (p *process) alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed
}

// serves reports whether the process is one that is given work.
func (p *process) serves() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.killed && p.told.IsZero() && !p.marked
}

// ended holds the end of a process to what was promised.
func (p *process) ended() {
	if !p.alive() {
		return
	}
	for _, err := range p.errs {
		if err != nil && !errors.Is(err, runner.ErrStuck) {
			p.w.fail("S7", "%s: Run returned %v", p.id, err)
		}
	}
}
