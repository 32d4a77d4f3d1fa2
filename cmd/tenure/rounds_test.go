package main

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"
)

var rounds = flag.Int("rounds", 3, "how many faults TestOneCommandAtATime inflicts")

// host is one "tenure run" of the same line, in a process group of its own.
type host struct {
	name string
	*process
}

// arena is a server, two hosts and a witness.
type arena struct {
	t     *testing.T
	redis *server
	dir   string
	hosts map[string]*host
}

const (
	roundTTL    = 1500 * time.Millisecond
	roundMargin = 400 * time.Millisecond
)

func newArena(t *testing.T) *arena {
	a := &arena{t: t, redis: privateRedis(t), dir: t.TempDir(), hosts: map[string]*host{}}
	must(t, "provision", "--store", a.redis.url)
	a.launch("one")
	a.launch("two")
	return a
}

func (a *arena) launch(name string) {
	self, err := os.Executable()
	if err != nil {
		a.t.Fatal(err)
	}
	a.hosts[name] = &host{name, start(a.t, "", []string{asWitness + "=" + a.dir, "TENURE_TEST_HOST=" + name},
		"run", "--store", a.redis.url, "--key", "k", "--ttl", roundTTL.String(), "--margin", roundMargin.String(), "--", self)}
}

// newest waits for a command with a token above the given one.
func (a *arena) newest(above uint64) line {
	a.t.Helper()
	var found line
	eventually(a.t, fmt.Sprintf("a command with a token above %d", above), func() bool {
		all := starts(readLog(a.t, a.dir))
		if len(all) > 0 {
			found = all[len(all)-1]
		}
		return found.token > above || judge(readLog(a.t, a.dir)) != nil
	})
	if a.trial(); a.t.Failed() {
		a.t.FailNow()
	}
	return found
}

// trial judges the log, and shows the end of it where something is wrong.
func (a *arena) trial() {
	a.t.Helper()
	lines := readLog(a.t, a.dir)
	wrong := judge(lines)
	if wrong == nil {
		return
	}
	a.t.Error(wrong)
	for _, l := range lines[max(len(lines)-20, 0):] {
		a.t.Logf("%s %-7s token %d on host %s", time.Unix(0, l.at).Format("05.000"), l.what, l.token, l.host)
	}
	for name, h := range a.hosts {
		a.t.Logf("host %s: %s", name, h.err.String())
	}
}

// The faults, each inflicted on the host that holds the key; every one returns the next holder.

// killed: the holder's "tenure run" dies.
func (a *arena) killed(holder line) line {
	a.hosts[holder.host].signal(syscall.SIGKILL)
	next := a.newest(holder.token)
	if next.host == holder.host {
		a.t.Errorf("the dead host %s holds the key again", next.host)
	}
	<-a.hosts[holder.host].ended
	a.launch(holder.host)
	return next
}

// stopped: the holder's "tenure run" is suspended, and wakes up when somebody else holds the key.
func (a *arena) stopped(holder line) line {
	a.hosts[holder.host].signal(syscall.SIGSTOP)
	next := a.newest(holder.token)
	if next.host == holder.host {
		a.t.Errorf("the stopped host %s holds the key again", next.host)
	}
	a.hosts[holder.host].signal(syscall.SIGCONT)
	return next
}

// frozen: the server does not answer for longer than a lease lasts.
func (a *arena) frozen(holder line) line {
	a.redis.signal(a.t, syscall.SIGSTOP)
	time.Sleep(roundTTL + time.Duration(rand.Int64N(int64(300*time.Millisecond))))
	a.redis.signal(a.t, syscall.SIGCONT)
	return a.newest(holder.token)
}

// Whatever happens to the holder or to the store, the command is never alive in two places, and each has a higher token
// than all before it.
func TestOneCommandAtATime(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	holder := a.newest(0)
	faults := []func(line) line{a.killed, a.stopped, a.frozen}
	for i := range *rounds {
		// A moment that has nothing to do with that of a renewal.
		time.Sleep(time.Duration(rand.Int64N(int64(roundTTL / 4))))
		holder = faults[i%len(faults)](holder)
		if t.Failed() {
			break
		}
	}
	a.trial()
	t.Logf("%d faults, %d commands, %d signs of life", *rounds, len(starts(readLog(t, a.dir))), len(readLog(t, a.dir)))
}

// A guardian that is stopped cannot act: then "tenure run" kills it, and with it the command.
func TestStoppedGuardian(t *testing.T) {
	t.Parallel()
	a := newArena(t)
	holder := a.newest(0)
	guardian := children(t, a.hosts[holder.host].cmd.Process.Pid)
	if len(guardian) != 1 {
		t.Fatalf("processes below %q: %v, expected the guardian", holder.host, guardian)
	}
	if err := syscall.Kill(guardian[0], syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	a.frozen(holder)
	if alive(guardian[0]) {
		t.Error("the stopped guardian was left behind")
	}
}

// children are the processes that pid has started.
func children(t *testing.T, pid int) (out []int) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		child, _ := strconv.Atoi(filepath.Base(f)) // the pattern admits numbers only
		if parent(child) == pid && alive(child) {
			out = append(out, child)
		}
	}
	return out
}

func parent(pid int) (ppid int) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0
	}
	_, rest, _ := cutLast(string(stat), ") ")
	var state string
	if _, err := fmt.Sscan(rest, &state, &ppid); err != nil {
		return 0
	}
	return ppid
}
