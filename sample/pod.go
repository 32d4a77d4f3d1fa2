package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/tenure-go/tenure"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/sample/witness"
)

// podConfig is what a pod is told at its start, as one line of JSON on its standard input.
type podConfig struct {
	Name    string
	Version string
	Store   storeConfig
	Ledger  string // URL of the witness
	Timing  lease.Timing
	Keys    []string
	Every   time.Duration // how often a worker writes
}

// Commands that follow on standard input, one a line. The end of the input ends the pod at once: nobody
// is left to watch it.
const (
	cmdDrain = "drain" // hand everything over, then leave and end
	cmdStop  = "stop"  // as at the end of a deployment: wind down and end
)

// runPod is the main function of a pod, and what an application would look like: a store, a coordinator
// for the shared workloads, a runner for the singleton, and one blocking Run for each.
func runPod(stdin io.Reader) error {
	cfg, commands, err := readPodConfig(stdin)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	store, closer, err := openStore(cfg.Store, log)
	if err != nil {
		return err
	}
	defer closer.Close()
	inside, err := openPort()
	if err != nil {
		return err
	}
	work := job{pod: cfg.Name, ledger: witness.NewClient(cfg.Ledger), every: cfg.Every}
	fleet, digest, err := cfg.engines(store, work, inside, log)
	if err == nil {
		err = inside.serve(fleet, digest)
	}
	defer inside.Close()
	if err != nil {
		return err
	}

	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	draining := sync.OnceFunc(func() { work.tell(witness.Draining) })
	go obey(ctx, commands, stop, func() {
		draining()
		if err := errors.Join(fleet.BeginDrain(ctx), digest.BeginDrain(ctx)); err != nil {
			log.Warn("drain is not marked in the store yet", "error", err)
		}
	})
	go retire(ctx, fleet, digest, draining, stop)
	var g errgroup.Group
	g.Go(func() error { return fleet.Run(ctx) })
	g.Go(func() error { return digest.Run(ctx) })
	if err := g.Wait(); err != nil {
		return err
	}
	work.tell(witness.Left)
	return nil
}

// engines makes what runs here: the shared workloads, and the singleton. Neither does anything before its Run.
func (cfg podConfig) engines(store tenure.Store, work job, inside *port, log *slog.Logger) (fleet *coordinator.Coordinator[string], digest *runner.Runner, err error) {
	feeds := make([]coordinator.Workload[string], len(cfg.Keys))
	for i, key := range cfg.Keys {
		feeds[i] = coordinator.Workload[string]{Key: key, Value: key}
	}
	fleet, err = coordinator.New(store, feeds, work.feed, coordinator.Config{
		Instance:  instance.Instance{Version: cfg.Version, Address: inside.address(), Labels: map[string]string{"pod": cfg.Name}},
		Timing:    cfg.Timing,
		Logger:    log,
		Observers: []any{&joined{work: work}, inside.metrics},
	})
	if err != nil {
		return nil, nil, err
	}
	digest, err = runner.New(store, fleet.Instance().ID, runner.Spec{Key: digestKey, Work: work.run}, runner.Config{
		Timing: cfg.Timing, Logger: log, Observers: []any{inside.metrics},
	})
	return fleet, digest, err
}

func readPodConfig(stdin io.Reader) (podConfig, *bufio.Scanner, error) {
	var cfg podConfig
	lines := bufio.NewScanner(stdin)
	lines.Buffer(nil, 32<<20) // ten thousand keys of 512 bytes, escaped
	if !lines.Scan() {
		return cfg, nil, fmt.Errorf("a pod reads its configuration from standard input: %w", errors.Join(lines.Err(), io.ErrUnexpectedEOF))
	}
	if err := json.Unmarshal(lines.Bytes(), &cfg); err != nil {
		return cfg, nil, fmt.Errorf("configuration of a pod: %w", err)
	}
	return cfg, lines, nil
}

// obey carries out commands until the parent is gone. Then the store may be gone as well, and there
// is nobody to drain for.
func obey(ctx context.Context, commands *bufio.Scanner, stop func(), drain func()) {
	var once sync.Once
	for commands.Scan() {
		switch commands.Text() {
		case cmdStop:
			stop()
		case cmdDrain:
			once.Do(func() { go drain() })
		}
	}
	os.Exit(exitOrphan)
}

// retire ends a pod that has handed everything over, whoever marked it: the parent, or a click on the fleet's
// page. It has nothing to do any more. The singleton's runner is told as well: the mark is the coordinator's.
func retire(ctx context.Context, fleet, digest drain.Subject, draining, stop func()) {
	select {
	case <-fleet.Drained():
	case <-ctx.Done():
		return
	}
	draining()
	_ = digest.BeginDrain(ctx) // always nil for a runner
	select {
	case <-digest.Drained():
	case <-ctx.Done():
	}
	stop()
}

// joined reports the pod's first heartbeat.
type joined struct {
	work job
	once sync.Once
}

// ObserveBeat implements coordinator.BeatObserver.
func (j *joined) ObserveBeat(e coordinator.BeatEvent) {
	if e.Err == nil {
		j.once.Do(func() { j.work.tell(witness.Joined) })
	}
}
