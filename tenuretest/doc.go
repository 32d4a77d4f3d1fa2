// Package tenuretest helps to test jobs that run under Tenure: what they do when they are drained,
// when they lose their lease, when their store fails, and when the process beside them dies.
//
// There are three helpers, and nothing in them is a stand-in: a real runner, real coordinators and
// the memory store do the work, and the helpers do to them what life does.
//
//   - [Start] runs one Work under a term of its own, as a [Job] that the test can drain, take the
//     lease from, or revoke.
//   - [Faulty] puts faults between a process and any store: calls that fail, are half done, hang, come late,
//     or are cut off.
//   - [NewFleet] is a small fleet in virtual time, whose instances can be killed, paused, drained and
//     parted from their store, with a witness that fails the test when two workers of one key run at once.
//
// The package imports nothing but the standard library's testing besides Tenure, and belongs in
// test files only.
//
// # One job
//
//	func TestMailer(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) {
//			job := tenuretest.Start(t, mailer, tenuretest.JobConfig{})
//			time.Sleep(150 * time.Second)
//			job.Drain()
//			if err := job.Wait(); err != nil {
//				t.Errorf("a drained mailer returned %v", err)
//			}
//		})
//	}
//
// A job works outside a bubble as well, where its time is real: nothing in it waits but the work.
//
// What a job should be tried with, and what it should do:
//
//	the test calls                the work sees                            and should
//	Drain                         term.Draining closes                     finish what is in flight, return nil
//	Drain, and time passes        then ctx ends, drain.ErrTimeout          stop at once
//	Lose                          ctx ends, lease.ErrLost (expired)        stop at once, write nothing more
//	Revoke                        ctx ends, lease.ErrLost (revoked)        the same
//	Faults().Cut, and time passes ctx ends, lease.ErrLost (unreachable)    the same
//	Faults().Inject               term.Check answers lease.ErrUnavailable  go on while term.Valid
//	Next, while it still runs     nothing                                  have its writes refused, by their token
//
// [Job.Outcome] tells what the runner made of the end: whether an error that the work returned
// would count as a failure, and so be tried again after a wait.
//
// # A store that fails
//
//	store, faults := tenuretest.Faulty(t, inner)
//	faults.Inject(tenuretest.Fault{Kind: tenuretest.HalfDone, On: []tenuretest.Op{tenuretest.OpRenew}, Times: 3})
//
// A caller is told the same by several kinds, that the outcome is unknown; they differ in what has
// become of the store:
//
//	kind        the call is done       the caller is answered
//	Fail        never                  at once, with an error
//	HalfDone    at once                at once, with an error
//	Hang        when it is lifted      then, whatever its context says
//	Late        after Delay            then, whatever its context says
//	LateAnswer  at once                after Delay, whatever its context says
//	Cut         never                  when its context ends, with an error
//
// [Faults.Wipe] makes a memory store lose all its data.
//
// # A fleet
//
//	fleet := tenuretest.NewFleet(t, catalogue, export, tenuretest.FleetConfig{})
//	fleet.Start("a", "b", "c")
//	fleet.Settled()
//	fleet.Kill(fleet.OwnerOf("tenant/north"))
//	fleet.Settled()
//
// The fleet fails the test, with its history, when
//
//   - a worker begins while another of its key has not returned: both hold a valid term (a broken
//     store), or the earlier one ignores the end of its context for longer than the timing's Margin (a broken job);
//   - a token is not above every earlier one of its key;
//   - it does not settle, or a worker does not return when the test ends.
//
// Workers of an instance that was killed, and those whose term ran out in a pause, are not counted:
// the former would be gone, and the latter cannot know. What such a worker still writes is for
// the job's own fencing to refuse, and for the test to look at.
//
// The random part of every wait is derived from the instance's ID, so that a test waits for the same
// lengths of time whenever it runs; the order of goroutines within one instant is the scheduler's.
package tenuretest
