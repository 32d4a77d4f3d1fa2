//go:build unix && !linux

package guard

import (
	"syscall"
)

// adopt does nothing here: there is no subreaper.
func adopt() error { return nil }

// dieWithParent does nothing here: there is no parent death signal.
func dieWithParent(*syscall.SysProcAttr) {}

// killTree kills the command's process group.
func killTree(pid, _ int) { _ = syscall.Kill(-pid, syscall.SIGKILL) }

// hurry does nothing here.
func hurry() {}

// sweep has nothing to find here: orphans do not come to this process.
func sweep() (left bool) { return false }

// cgroup does not exist here.
type cgroup struct{}

func newCgroup() *cgroup                      { return nil }
func (*cgroup) use(*syscall.SysProcAttr) bool { return false }
func (*cgroup) leave(*syscall.SysProcAttr)    {}
func (*cgroup) path() string                  { return "" }
func (*cgroup) kill()                         {}
func (*cgroup) remove()                       {}
func killCgroup(string)                       {}
