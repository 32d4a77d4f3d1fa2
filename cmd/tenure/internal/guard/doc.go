// Package guard runs a command so that it ends with its lease, whatever becomes of the process that holds the
// lease.
//
// Between the holder of a lease and the command stands a process of its own, the guardian. It is the command's
// parent, leads its own process group, and adopts whatever the command leaves behind (child subreaper). The holder
// tells it through a pipe until when the command may run. The guardian acts at that moment, or when the pipe
// ends: it asks the command to stop, and kills it with all its descendants at the deadline at the latest. It
// needs nobody for that, so it holds as well when the holder was killed or stopped.
//
//	tenure run            guardian                       command
//	    |--- deadline ------->|                              |
//	    |--- deadline ------->|                              |
//	    X  (killed, stopped)  |                              |
//	                          |-- deadline - grace: TERM --->|
//	                          |-- deadline: KILL, all ------>X
//
// # Deadlines
//
// A deadline is an [Instant] of a clock that all processes of the machine share, and that goes on while the machine sleeps
// (CLOCK_BOOTTIME). A message that arrives late therefore says the same as one that arrives in time.
//
// # Who kills whom
//
//   - The guardian kills the descendants of the command: through cgroup.kill where it may make a cgroup for them,
//     and otherwise by walking the process table until nothing is left. What was orphaned comes to it, since it is
//     the nearest subreaper; so nothing escapes by a double fork or a session of its own.
//   - The kernel kills the command when the guardian dies (parent death signal), and its descendants then
//     come to the holder, which is a subreaper too and kills them.
//   - The holder kills a guardian that does not act.
//
// What remains is the death of both in the same instant: then the command dies, and descendants that it had
// started go on. A service manager that kills the whole control group covers that.
//
// This is complete on Linux. On other Unix systems, which have no subreaper, it is the process group of the command
// that is killed. Windows has none of it, and [Start] refuses there.
package guard
