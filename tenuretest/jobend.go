package tenuretest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"time"

	"github.com/tenure-go/tenure/runner"
)

// await waits for something, and fails the test when the patience is over.
func (j *Job) await(c <-chan struct{}, what string) {
	j.t.Helper()
	if !within(c, j.cfg.Patience) {
		j.t.Fatalf("%s within %v: %s", what, j.cfg.Patience, j.describe())
	}
}

// within waits for c at most d, and reports whether it was closed.
func within(c <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// describe says where the job stands, and where its work does.
func (j *Job) describe() string {
	select {
	case <-j.began:
	default:
		return fmt.Sprintf("the runner of %q is %s", j.cfg.Key, j.runner.State())
	}
	select {
	case <-j.returned:
		return fmt.Sprintf("the runner of %q is %s; of the work, %s", j.cfg.Key, j.runner.State(), verdict(j.err))
	default:
	}
	told := "nobody has told it to"
	switch {
	case j.ctx.Err() != nil:
		told = fmt.Sprintf("its context has ended (%v): does it select on ctx.Done()?", context.Cause(j.ctx))
	case asked(j.term):
		told = "term.Draining() is closed: does it select on that?"
	}
	return fmt.Sprintf("the work of %q runs, and %s\n%s", j.cfg.Key, told, stacks())
}

// stacks returns where the works under test are: the stacks of their goroutines.
func stacks() string {
	buf := make([]byte, 1<<20)
	buf = buf[:runtime.Stack(buf, true)]
	var out []string
	for s := range strings.SplitSeq(string(buf), "\n\n") {
		if strings.Contains(s, "tenuretest.(*Job).run(") {
			out = append(out, s)
		}
	}
	return strings.Join(out, "\n\n")
}

// cleanup ends what still runs when the test has ended.
func (j *Job) cleanup() {
	j.t.Helper()
	defer j.stop()
	j.faults.end()
	select {
	case <-j.began:
	default:
		return // it never began, and the test knows
	}
	over := false
	select {
	case <-j.returned:
		over = true
	default:
		j.lapse()
		_ = j.term.Check(context.Background()) // so that the work is told at once
	}
	if !within(j.returned, j.cfg.Timing.HardStop+j.cfg.Timing.CallTimeout) {
		j.t.Errorf("the test is over, but the work has not returned: %s", j.describe())
		return
	}
	j.stop()
	if !within(j.ended, j.cfg.Patience) {
		j.t.Errorf("the test is over, but the runner has not ended: %s", j.describe())
		return
	}
	j.mu.Lock()
	unseen := over && !j.looked
	j.mu.Unlock()
	if err := j.runner.Info().Last.Err; unseen && err != nil {
		j.t.Errorf("the work of %q failed, and the test did not call Wait to see it: %v%s", j.cfg.Key, err, stackOf(err))
	}
}

// stackOf returns the stack of a panic, on lines of its own.
func stackOf(err error) string {
	if p, ok := errors.AsType[*runner.PanicError](err); ok {
		return "\n" + string(p.Stack)
	}
	return ""
}
