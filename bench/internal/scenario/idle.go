package scenario

import (
	"context"
	"encoding/json"
	"os"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/tenure-go/tenure/bench/internal/lab"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/runner"
)

// resting is what a process that only holds costs.
type resting struct {
	CPU        float64 // % of a core
	Goroutines float64
	Heap       float64 // bytes per workload
	Stack      float64 // bytes per workload
}

func idle(ctx context.Context, e *Env, r *lab.Report) error {
	n := e.size(10_000, 10_000, 500)
	one := e.Lab
	one.Rounds, one.Cold = e.size(5, 1, 1), true
	var all []resting
	_, err := one.Compare(ctx, "idle", "% of a core", lab.Contender{Name: rowTenure, Kind: lab.Ours, Round: func(ctx context.Context) (float64, error) {
		got, err := e.rest(ctx, n)
		all = append(all, got)
		return got.CPU, err
	}})
	if err != nil {
		return err
	}
	table := func(title, unit string, value func(resting) float64) *lab.Table {
		row := lab.Row{Name: rowTenure, Kind: lab.Ours}
		for _, a := range all {
			row.Values = append(row.Values, value(a))
		}
		return &lab.Table{Title: title, Unit: unit, Rows: []lab.Row{row}}
	}
	cpu := table("CPU", "% of a core", func(a resting) float64 { return a.CPU })
	goroutines := table("Goroutines", "", func(a resting) float64 { return a.Goroutines })
	heap := table("Heap", "B per workload", func(a resting) float64 { return a.Heap })
	stack := table("Stacks", "B per workload", func(a resting) float64 { return a.Stack })
	r.Note("A process of its own with one coordinator and %d workloads on Redis; the timing is the default (a renewal, a heartbeat each 2 s). It is watched for %d s once everything runs.", n, e.size(20, 3, 1))
	r.Tables = append(r.Tables, cpu, goroutines, heap, stack)
	r.AtMost("10 000 held workloads: CPU", cpu.Median(rowTenure), 1, "% of a core")
	r.AtMost("10 000 held workloads: goroutines besides the workers' own", goroutines.Median(rowTenure)-float64(n), 40, "")
	r.AtMost("10 000 held workloads: heap per workload", heap.Median(rowTenure), 1536, "B")
	return nil
}

// rest has a child hold n workloads.
func (e *Env) rest(ctx context.Context, n int) (resting, error) {
	f, err := e.redisFleet(ctx)
	if err != nil {
		return resting{}, err
	}
	p, err := e.spawn(Child{Role: "idle", Addr: f.addr, Fleet: f.name, Workloads: n, Seconds: e.size(20, 3, 1)})
	if err != nil {
		return resting{}, err
	}
	var got resting
	if err := p.out.Decode(&got); err != nil {
		_ = p.stop()
		return resting{}, err
	}
	return got, p.stop()
}

// idle is the child's side.
func (c Child) idle(ctx context.Context, out *json.Encoder) error {
	f := &redisFleet{c.Addr, c.Fleet, maxTTL}
	s, end, err := f.open(nil)
	if err != nil {
		return err
	}
	defer end()
	memory := func() (m runtime.MemStats) {
		runtime.GC()
		runtime.GC() // what was in a pool is free after the second
		runtime.ReadMemStats(&m)
		return m
	}
	before := memory()
	catalogue := make([]coordinator.Workload[string], c.Workloads)
	for i, key := range keysOf(c.Workloads) {
		catalogue[i] = coordinator.Workload[string]{Key: key, Value: key}
	}
	var running atomic.Int64
	co, err := coordinator.New(s, catalogue, func(ctx context.Context, term *runner.Term, _ string) error {
		running.Add(1)
		return idleWork(ctx, term)
	}, coordinator.Config{})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer inBackground(ctx, co.Run, func() {})()
	defer cancel()
	if err := until(ctx, "everything runs", func() bool { return int(running.Load()) == c.Workloads }); err != nil {
		return err
	}
	time.Sleep(3 * time.Second)
	after := memory()
	got := resting{
		Goroutines: float64(runtime.NumGoroutine()),
		Heap:       float64(int64(after.HeapAlloc)-int64(before.HeapAlloc)) / float64(c.Workloads),
		Stack:      float64(int64(after.StackInuse)-int64(before.StackInuse)) / float64(c.Workloads),
	}
	used, err := lab.CPU(os.Getpid())
	if err != nil {
		return err
	}
	began := time.Now()
	time.Sleep(time.Duration(c.Seconds) * time.Second)
	now, err := lab.CPU(os.Getpid())
	if err != nil {
		return err
	}
	got.CPU = 100 * float64(now-used) / float64(time.Since(began))
	runtime.KeepAlive(catalogue)
	return out.Encode(got)
}
