package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/tenure-go/tenure/sample/witness"
)

// run is one run of a fleet.
type run struct {
	options options
	witness *witness.Witness
	fleet   *fleet
	host    *host
	ledger  *http.Server
	screen  *screen
	page    *fleetPage // nil: none
	moves   *float64   // per workload, of the rollout
}

// A worker writes about twenty times a second; the workers of a large catalogue write less often, so
// that the ledger takes at most mostWrites a second.
const (
	writeEvery = 50 * time.Millisecond
	mostWrites = 4000
)

func (o options) every() time.Duration {
	return max(writeEvery, time.Duration(len(o.catalogue)+1)*time.Second/mostWrites)
}

// calm is how long after the last disturbance every workload is owned again: a lease TTL, and a second.
func (o options) calm() time.Duration { return o.timing.LeaseTTL + time.Second }

// start runs a fleet to its verdict and returns the exit status. An error says that nothing was started.
func start(o options, out, errs io.Writer) (int, error) {
	r, err := newRun(o, newScreen(o, out, errs))
	if err != nil {
		return 0, err
	}
	defer r.close()
	return r.play()
}

// newRun makes the store and the witness ready.
func newRun(o options, s *screen) (*run, error) {
	r := &run{options: o, screen: s}
	name := fmt.Sprintf("sample-%d-%x", os.Getpid(), rand.Uint64())
	var err error
	if r.host, err = openHost(o.store, name, o.timing.LeaseTTL); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, errors.Join(fmt.Errorf("ledger: %w", err), r.host.Close())
	}
	r.witness = witness.New(o.catalogue, []string{digestKey}, time.Second+2*o.every(), s.tell)
	r.ledger = &http.Server{Handler: witness.Handler(r.witness), ReadHeaderTimeout: time.Minute}
	go r.ledger.Serve(listener) //nolint:errcheck // it ends with close, and says so
	r.fleet = newFleet(podConfig{
		Store: r.host.cfg, Ledger: "http://" + listener.Addr().String(), Timing: o.timing, Keys: o.catalogue, Every: o.every(),
	}, r.witness, s)
	return r, nil
}

// close ends what newRun made. The pods have ended by then.
func (r *run) close() {
	r.ledger.Close()
	if err := r.page.Close(); err != nil {
		r.screen.note("end the page: %v", err)
	}
	if err := r.host.Close(); err != nil {
		r.screen.note("clean up the store: %v", err)
	}
}

// play is the run from the first pod to the verdict.
func (r *run) play() (int, error) {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	var err error
	if r.page, err = openPage(r.options, r.host.cfg); err != nil {
		return 0, err
	}
	if err := r.screen.open(r); err != nil {
		return 0, err
	}
	defer r.screen.close()
	end, now, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	defer close(done)
	go r.interrupts(signals, end, now, done)

	r.screen.note("seed %d", r.options.seed)
	if r.page != nil {
		r.screen.note("the fleet's page: %s", r.page.URL)
	}
	for range r.options.pods {
		if _, err := r.fleet.Add(firstVersion); err != nil {
			r.fleet.Shutdown(0, nil)
			return 0, err
		}
	}
	err = r.act(end)
	unowned := r.end(now)
	r.screen.close()
	if err != nil {
		r.screen.note("%v", err)
	}
	return r.verdict(unowned, err, now), nil
}

// interrupts turns the first signal into a graceful end, and the second into one at once.
func (r *run) interrupts(signals <-chan os.Signal, end, now chan<- struct{}, done <-chan struct{}) {
	for n := 1; ; n++ {
		select {
		case <-signals:
		case <-r.screen.interrupts:
		case <-done:
			return
		}
		switch n {
		case 1:
			close(end)
			r.screen.note("winding down; once more to stop at once")
		case 2:
			close(now)
		}
	}
}

// act disturbs the fleet until the run is over.
func (r *run) act(end <-chan struct{}) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() {
		select {
		case <-end:
			cancel()
		case <-ctx.Done():
		}
	}()
	var disturb sync.WaitGroup
	defer disturb.Wait()
	if r.options.chaos {
		chaosCtx, stop := ctx, context.CancelFunc(func() {})
		if d := r.options.runFor; d > 0 {
			chaosCtx, stop = context.WithTimeout(ctx, max(d-r.options.calm(), d/2))
		}
		defer stop()
		disturb.Go(func() { r.chaos().run(chaosCtx) })
	}
	disturb.Go(func() { r.screen.keys(ctx, r, cancel) })
	if r.options.failFast {
		disturb.Go(func() { r.watch(ctx, cancel) })
	}
	defer cancel() // before the wait
	var over <-chan time.Time
	if r.options.runFor > 0 {
		over = time.After(r.options.runFor)
	}
	if r.options.rollout {
		if err := r.rollout(ctx); err != nil {
			return fmt.Errorf("the rollout was not finished: %w", err)
		}
		if over == nil {
			return nil
		}
	}
	select {
	case <-over:
	case <-ctx.Done():
	}
	return nil
}

// watch ends the run at the first double owner, so that what is seen last is what led to it.
func (r *run) watch(ctx context.Context, end func()) {
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	for r.witness.SplitBrain() == 0 {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
	r.screen.note("a workload had two owners: the run ends here")
	end()
}

func (r *run) chaos() *chaos {
	return &chaos{
		fleet: r.fleet, wipe: r.host.wipe, rand: rand.New(rand.NewPCG(r.options.seed, 1)),
		pods: r.options.pods, ttl: r.options.timing.LeaseTTL, notes: r.screen,
	}
}

// end gives the fleet the time that it is promised to need, sees what is without an owner, and winds
// everything down.
func (r *run) end(now <-chan struct{}) (unowned []string) {
	for _, name := range r.fleet.Stopped() {
		if err := r.fleet.Resume(name); err != nil {
			r.screen.note("resume %s: %v", name, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), r.options.calm())
	defer cancel()
	go func() {
		select {
		case <-now:
			cancel()
		case <-ctx.Done():
		}
	}()
	_ = r.until(ctx, func() bool { return len(r.witness.Unowned()) == 0 }) // what is left then is the verdict
	unowned = r.witness.Close()
	r.fleet.Shutdown(windDown, now)
	return unowned
}

// windDown is how long the pods may take to end; a worker of the sample needs milliseconds.
const windDown = 10 * time.Second

// verdict prints what the witness saw, and returns the exit status.
func (r *run) verdict(unowned []string, failed error, now <-chan struct{}) int {
	s := r.witness.Summary()
	s.Unowned, s.MovesPerWorkload = len(unowned), r.moves
	r.screen.summary(s)
	for i, key := range unowned {
		if i == 5 {
			r.screen.note("... and %d more without an owner", len(unowned)-i)
			break
		}
		r.screen.note("without an owner: %s", key)
	}
	crashed := r.fleet.Crashed()
	if crashed > 0 {
		r.screen.note("%d pods ended by themselves", crashed)
	}
	good := s.Good() && crashed == 0 && (failed == nil || errors.Is(failed, context.Canceled))
	if !good {
		r.screen.note("seed %d", r.options.seed)
	}
	select {
	case <-now:
		return exitInterrupted
	default:
	}
	if !good {
		return exitBad
	}
	return exitGood
}
