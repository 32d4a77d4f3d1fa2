//go:build unix

package guard

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Argument {
		os.Exit(Main())
	}
	os.Exit(m.Run())
}

// guarded starts a shell script that writes to the file out.
func guarded(t *testing.T, script string, left, grace time.Duration) (g *Guard, out string) {
	t.Helper()
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Fatal(err)
	}
	out = filepath.Join(t.TempDir(), "out")
	g, err = Start(Config{Path: sh, Argv: []string{"sh", "-c", script, out}, Env: os.Environ(), Grace: grace, Deadline: Now().Add(left)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { g.Kill(); <-g.Done() })
	return g, out
}

// done waits for the end, which is at hand.
func done(t *testing.T, g *Guard) Result {
	t.Helper()
	select {
	case <-g.Done():
		return g.Result()
	case <-time.After(30 * time.Second):
		t.Fatal("nothing has ended the command")
		return Result{}
	}
}

const stubborn = `trap "" TERM; while :; do sleep 0.05; done`

// The holder may be stopped before it tells anything after the start.
func TestTheFirstDeadlineCounts(t *testing.T) {
	t.Parallel()
	for name, grace := range map[string]time.Duration{"asked before": 100 * time.Millisecond, "unasked": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _ := guarded(t, stubborn, 6*time.Second, grace) // a busy machine takes its time to start a process
			r := done(t, g)
			if !r.Killed || r.Status != 137 || r.Err != nil || (r.Asked == CauseDeadline) != (grace > 0) {
				t.Errorf("result %+v", r)
			}
		})
	}
}

func TestALaterDeadlineCountsAndAnEarlierOneDoesNot(t *testing.T) {
	t.Parallel()
	g, out := guarded(t, `sleep 6.5; echo done >"$0"; exit 5`, 6*time.Second, 100*time.Millisecond)
	g.Extend(Now().Add(time.Minute))
	g.Extend(Now().Add(time.Millisecond))
	if r := done(t, g); r.Killed || r.Status != 5 || r.Asked != "" || r.Err != nil {
		t.Errorf("result %+v", r)
	}
	if text, err := os.ReadFile(out); err != nil || string(text) != "done\n" {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAStopHasItsOwnTime(t *testing.T) {
	t.Parallel()
	g, out := guarded(t, `trap "" TERM; echo ready >"$0"; while :; do sleep 0.05; done`, time.Minute, time.Second)
	for end := time.Now().Add(30 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
		if _, err := os.Stat(out); err == nil {
			break
		}
	}
	g.Stop(15, Now().Add(200*time.Millisecond))
	if r := done(t, g); !r.Killed || r.Status != 137 || r.Asked != CauseOrder {
		t.Errorf("result %+v", r)
	}
}

func TestADeadlineThatHasPassedStartsNothing(t *testing.T) {
	t.Parallel()
	g, out := guarded(t, `echo ran >"$0"`, -time.Millisecond, 0)
	if r := done(t, g); !errors.Is(r.Err, ErrTooLate) {
		t.Errorf("result %+v", r)
	}
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("the command ran (%v)", err)
	}
}
