package guard

import (
	"bufio"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// cgroup is a control group for the command alone, so that all of it can be killed in one step. A nil cgroup is none.
type cgroup struct {
	dir string
	fd  *os.File
}

const killFile = "cgroup.kill"

// newCgroup makes a group below this process's own, or returns nil where that is not allowed, where there is no
// cgroup v2, or where it cannot be killed as a whole (before Linux 5.14).
func newCgroup() *cgroup {
	own, err := ownCgroup()
	if err != nil {
		return nil
	}
	dir := filepath.Join(own, fmt.Sprintf("tenure-%d", os.Getpid()))
	if os.Mkdir(dir, 0o755) != nil {
		return nil
	}
	g := &cgroup{dir: dir}
	if unix.Access(filepath.Join(dir, killFile), unix.W_OK) == nil {
		if g.fd, err = os.Open(dir); err == nil {
			return g
		}
	}
	_ = os.Remove(dir)
	return nil
}

// ownCgroup returns the folder of this process's group.
func ownCgroup() (string, error) {
	mounts, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	defer mounts.Close()
	var root string
	for lines := bufio.NewScanner(mounts); lines.Scan(); {
		before, after, _ := strings.Cut(lines.Text(), " - ")
		if fields := strings.Fields(before); strings.HasPrefix(after, "cgroup2 ") && len(fields) > 4 {
			root = fields[4]
			break
		}
	}
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		if path, ok := strings.CutPrefix(strings.TrimSpace(line), "0::"); ok && root != "" {
			return filepath.Join(root, path), nil
		}
	}
	return "", os.ErrNotExist
}

// use has the command started inside the group.
func (g *cgroup) use(sys *syscall.SysProcAttr) bool {
	if g == nil {
		return false
	}
	sys.UseCgroupFD, sys.CgroupFD = true, int(g.fd.Fd())
	return true
}

// leave gives the group up.
func (g *cgroup) leave(sys *syscall.SysProcAttr) {
	sys.UseCgroupFD = false
	g.remove()
	g.dir = ""
}

func (g *cgroup) path() string {
	if g == nil {
		return ""
	}
	return g.dir
}

func (g *cgroup) kill() {
	if g != nil && g.dir != "" {
		_ = os.WriteFile(filepath.Join(g.dir, killFile), []byte("1"), 0) // the walk over the processes follows in any case
	}
}

// remove removes the group, which is empty; the kernel may take a moment to notice.
func (g *cgroup) remove() {
	if g == nil || g.dir == "" {
		return
	}
	g.fd.Close()
	for range 100 {
		if err := os.Remove(g.dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(time.Millisecond)
	}
}

// killCgroup kills and removes the group that a guardian has left behind.
func killCgroup(dir string) {
	if dir == "" {
		return
	}
	_ = os.WriteFile(filepath.Join(dir, killFile), []byte("1"), 0)
	for range 100 {
		if err := os.Remove(dir); err == nil || os.IsNotExist(err) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}
