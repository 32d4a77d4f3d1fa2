package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
)

// size of a fleet and of its restart.
type fleetSize struct{ processes, instances, workloads, restarts, watch int }

func (e *Env) fleetSize() fleetSize {
	switch {
	case e.Tiny:
		return fleetSize{2, 4, 40, 1, 1}
	case e.Quick:
		return fleetSize{2, 20, 2000, 2, 3}
	}
	return fleetSize{4, 200, 50_000, 20, 60}
}

// order is what the parent tells a child of a fleet.
type order struct {
	Do string // "count", "restart" (of instance At), "dump"
	At int
}

// said is the answer.
type said struct {
	Least, Most int // workloads that run on an instance
	Total       int // on all of the process
	Error       string
	Events      []event
}

// event is a worker's begin or end. Times are of the machine's monotonic clock, in µs.
type event struct {
	K int   // number of the workload
	T int64 // when
	B bool  // begin
}

// fleet measures a large fleet at rest, and while its instances are restarted one by one.
func fleet(ctx context.Context, e *Env, r *lab.Report) error {
	size := e.fleetSize()
	f, err := e.redisFleet(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	var children []*process
	defer func() {
		for _, p := range children {
			_ = p.end.Close()
		}
		for _, p := range children {
			_ = p.cmd.Wait()
		}
	}()
	each := size.instances / size.processes
	for i := range size.processes {
		p, err := e.spawn(Child{Role: "fleet", Addr: f.addr, Fleet: f.name, Workloads: size.workloads, First: i * each, Count: each, Instances: size.instances})
		if err != nil {
			return err
		}
		children = append(children, p)
	}
	share := size.workloads / size.instances
	err = poll(ctx, children, "the fleet is balanced", func(a said) bool { return a.Least == share && a.Most == share }, size.workloads)
	if err != nil {
		return err
	}
	e.Say("  balanced after %v", time.Since(began).Round(time.Millisecond))
	r.Note("%d coordinators in %d processes, %d workloads, default timing, one Redis. From the start of the first process until every instance ran its %d workloads: %v.",
		size.instances, size.processes, size.workloads, share, time.Since(began).Round(100*time.Millisecond))
	time.Sleep(time.Duration(e.size(20, 3, 1)) * time.Second)
	if err := e.steady(ctx, r, size); err != nil {
		return err
	}
	if err := restarts(ctx, e, r, children, size); err != nil {
		return err
	}
	return unowned(r, children, size)
}

func (p *process) tell(o order) (said, error) {
	var a said
	if err := p.in.Encode(o); err != nil {
		return a, err
	}
	if err := p.out.Decode(&a); err != nil {
		return a, err
	}
	if a.Error != "" {
		return a, errors.New(a.Error)
	}
	return a, nil
}

// poll waits until all workloads run, and every process is as it should be.
func poll(ctx context.Context, children []*process, what string, good func(said) bool, workloads int) error {
	for end := time.Now().Add(5 * time.Minute); time.Now().Before(end); {
		all, total := true, 0
		for _, p := range children {
			a, err := p.tell(order{Do: "count"})
			if err != nil {
				return err
			}
			all, total = all && good(a), total+a.Total
		}
		if all && total == workloads {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(250 * time.Millisecond):
		}
	}
	return fmt.Errorf("not in five minutes: %s", what)
}

// steady measures the store while nothing changes.
func (e *Env) steady(ctx context.Context, r *lab.Report, size fleetSize) error {
	one := e.Lab
	one.Rounds, one.Cold = 5, true
	t, err := one.Compare(ctx, "The store's CPU while nothing changes", "% of a core", lab.Contender{Name: rowTenure, Kind: lab.Ours,
		Round: func(context.Context) (float64, error) {
			before, err := lab.CPU(e.redis.PID())
			if err != nil {
				return 0, err
			}
			began := time.Now()
			time.Sleep(time.Duration(size.watch) * time.Second / 5)
			after, err := lab.CPU(e.redis.PID())
			return 100 * float64(after-before) / float64(time.Since(began)), err
		}})
	if err != nil {
		return err
	}
	r.Tables = append(r.Tables, t)
	r.AtMost(fmt.Sprintf("%d instances × %s workloads on one Redis: steady store CPU", size.instances, lab.Digits(float64(size.workloads))), t.Median(rowTenure), 2, "% of a core")
	return nil
}

// restarts replaces instances one by one, spread over the processes.
func restarts(ctx context.Context, e *Env, r *lab.Report, children []*process, size fleetSize) error {
	began := time.Now()
	for i := range size.restarts {
		if _, err := children[i%len(children)].tell(order{Do: "restart", At: i / len(children)}); err != nil {
			return err
		}
		e.Say("  restarted %d of %d after %v", i+1, size.restarts, time.Since(began).Round(time.Millisecond))
	}
	if err := poll(ctx, children, "everything runs again", func(said) bool { return true }, size.workloads); err != nil {
		return err
	}
	r.Note("%d instances were stopped and replaced one after another; the whole took %v.", size.restarts, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// unowned judges for how long workloads ran nowhere.
func unowned(r *lab.Report, children []*process, size fleetSize) error {
	byKey := make([][]event, size.workloads)
	for _, p := range children {
		a, err := p.tell(order{Do: "dump"})
		if err != nil {
			return err
		}
		for _, ev := range a.Events {
			byKey[ev.K] = append(byKey[ev.K], ev)
		}
	}
	var gaps []float64
	for key, events := range byKey {
		slices.SortFunc(events, func(a, b event) int { return int(a.T - b.T) })
		for i, ev := range events {
			if i == 0 || !ev.B {
				continue
			}
			if events[i-1].B {
				return fmt.Errorf("workload %d began twice without an end between: it had two owners", key)
			}
			gaps = append(gaps, float64(ev.T-events[i-1].T)/1000)
		}
	}
	if len(gaps) == 0 {
		return errors.New("nothing moved")
	}
	r.Tables = append(r.Tables, &lab.Table{Title: fmt.Sprintf("A workload without an owner, over %s moves", lab.Digits(float64(len(gaps)))), Unit: "ms",
		Rows: []lab.Row{{Name: rowTenure, Kind: lab.Ours, Values: gaps}}})
	r.Plots = append(r.Plots, lab.Plot{File: "fleet-restart", Title: "Rolling restart: share of moves that took no longer", YAxis: "% of moves", XAxis: "ms, logarithmic",
		Lines: []lab.Line{{Name: "old work returned until new work's first line", Values: thin(gaps, 2000)}}})
	r.AtMost("rolling restart: the longest that a workload ran nowhere", slices.Max(gaps)/1000, 1, "s")
	return nil
}

// thin keeps about n of the values, at equal distances of their order, and the last.
func thin(values []float64, n int) []float64 {
	s := slices.Sorted(slices.Values(values))
	step := max(len(s)/n, 1)
	var out []float64
	for i := step - 1; i < len(s); i += step {
		out = append(out, s[i])
	}
	return append(out, s[len(s)-1])
}
