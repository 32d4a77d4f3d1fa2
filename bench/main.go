// Command bench puts the toolkit beside other libraries and beside hand-written floors, in one run on private servers,
// and judges the figures against what must hold.
//
//	go run ./bench                 everything, about half an hour
//	go run ./bench -quick          most of it on a small scale, in less than a minute
//	go run ./bench -only handover  the scenarios whose names contain that
//	go run ./bench -plots dir      pictures as well, as SVG files
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/bench/internal/scenario"
)

// Exit codes.
const (
	exitMissed = 1 // a bound was missed
	exitFailed = 2 // something could not be measured
)

type options struct {
	only                             string
	plots                            string
	quick, tiny, json, list, verbose bool
	child, noPeers, strict           bool
	rounds                           int
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "run the scenarios whose `name` contains this")
	flag.StringVar(&o.plots, "plots", "", "write SVG plots into this `folder`")
	flag.BoolVar(&o.quick, "quick", false, "a small scale, without what takes long at any: less than a minute, not counting the build of the peers")
	flag.BoolVar(&o.tiny, "tiny", false, "the smallest scale: shows that everything runs, and measures nothing")
	flag.BoolVar(&o.json, "json", false, "print JSON instead of tables")
	flag.BoolVar(&o.list, "list", false, "list the scenarios")
	flag.BoolVar(&o.verbose, "v", false, "say what is being done, on standard error")
	flag.BoolVar(&o.noPeers, "no-peers", false, "leave out etcd and client-go, whose first build takes minutes")
	flag.BoolVar(&o.strict, "strict", false, "exit with 1 where a bound is missed")
	flag.BoolVar(&o.child, "child", false, "used by the program itself: be a process of a scenario")
	flag.IntVar(&o.rounds, "rounds", 0, "repeat this `often` instead of 7 times (5 with -quick)")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code, err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	os.Exit(code)
}

func run(ctx context.Context, o options) (int, error) {
	if o.child {
		if err := scenario.RunChild(ctx, os.Stdin, os.Stdout); err != nil {
			return exitFailed, err
		}
		return 0, nil
	}
	chosen := choose(o)
	if len(chosen) == 0 {
		return exitFailed, fmt.Errorf("-only %q: no scenario has that in its name; -list shows them", o.only)
	}
	if o.list {
		for _, s := range chosen {
			fmt.Printf("%-18s %s\n", s.Name, s.Title)
		}
		return 0, nil
	}
	e, end, err := environment(ctx, o)
	if err != nil {
		return exitFailed, err
	}
	defer end()
	return measure(ctx, o, e, chosen)
}

func choose(o options) (chosen []scenario.Scenario) {
	for _, s := range scenario.All() {
		left := o.quick && s.Long && o.only == "" && !o.list
		if strings.Contains(s.Name, o.only) && !left {
			chosen = append(chosen, s)
		}
	}
	return chosen
}

func environment(ctx context.Context, o options) (*scenario.Env, func(), error) {
	rounds := o.rounds
	switch {
	case rounds > 0:
	case o.tiny:
		rounds = 1
	case o.quick:
		rounds = 5
	default:
		rounds = 7
	}
	e := scenario.New(io.Discard, rounds)
	if o.verbose {
		e.Log = os.Stderr
	}
	e.Quick, e.Tiny = o.quick, o.tiny
	var err error
	if e.Self, err = os.Executable(); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp("", "tenure-bench-")
	if err != nil {
		return nil, nil, err
	}
	if o.noPeers {
		e.Missing = "left out by -no-peers"
	} else {
		e.Build = func() (string, error) { return buildPeers(ctx, dir) }
	}
	return e, func() { e.Close(); _ = os.RemoveAll(dir) }, nil
}

// measure runs the scenarios and prints what each of them found as soon as it has.
func measure(ctx context.Context, o options, e *scenario.Env, chosen []scenario.Scenario) (int, error) {
	if !o.json {
		fmt.Printf("Tenure beside its peers: %s, %d CPUs, %s/%s.", runtime.Version(), runtime.NumCPU(), runtime.GOOS, runtime.GOARCH)
		fmt.Print(" Only ratios carry over to another machine.\n\n")
	}
	var bounds []lab.Bound
	code := 0
	for _, s := range chosen {
		began := time.Now()
		e.Say("%s: %s", s.Name, s.Title)
		r := &lab.Report{Name: s.Name, Title: s.Title}
		if err := s.Run(ctx, e, r); err != nil {
			if ctx.Err() != nil {
				return exitFailed, context.Cause(ctx)
			}
			fmt.Fprintf(os.Stderr, "bench: %s: %v\n", s.Name, err)
			code = exitFailed
			continue
		}
		e.Say("%s took %v", s.Name, time.Since(began).Round(time.Millisecond))
		if err := show(o, r); err != nil {
			return exitFailed, err
		}
		bounds = append(bounds, r.Bounds...)
	}
	if !o.json && len(chosen) > 1 {
		fmt.Print("## What must hold\n\n")
		lab.WriteBounds(os.Stdout, bounds)
	}
	for _, b := range bounds {
		if !b.OK && o.strict && code == 0 {
			code = exitMissed
		}
	}
	return code, nil
}

// show prints a report and saves its plots.
func show(o options, r *lab.Report) error {
	if o.plots != "" {
		if err := os.MkdirAll(o.plots, 0o755); err != nil {
			return err
		}
		for _, p := range r.Plots {
			if _, err := p.Save(o.plots); err != nil {
				return err
			}
		}
	}
	if o.json {
		return json.NewEncoder(os.Stdout).Encode(r)
	}
	r.Write(os.Stdout)
	return nil
}
