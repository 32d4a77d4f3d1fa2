package tenuretest

import (
	"slices"
	"testing/synctest"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
)

// Stop stops an instance in good order, as a shutdown does, and returns when its Run has: its
// workers were drained and it has left the fleet. The test fails where a worker does not return.
func (f *Fleet[W]) Stop(id instance.ID) {
	f.t.Helper()
	m := f.must(id, "Stop", running)
	f.witness.note("%s is told to stop", id)
	m.stop()
	err := m.wait()
	m.become(stopped)
	f.witness.note("%s has stopped", id)
	if err != nil {
		f.t.Errorf("Stop: Run of %s: %v", id, err)
	}
	synctest.Wait()
}

// Kill ends an instance as kill -9 or a power cut does: nothing is released, nobody is told, and the
// others find out when its session and its heartbeat run out. Since Go cannot end a goroutine from outside, its
// workers see their context end, with the cause ErrKilled; what they do after that the real ones would not.
func (f *Fleet[W]) Kill(id instance.ID) {
	f.t.Helper()
	m := f.must(id, "Kill", running, paused)
	synctest.Wait()
	m.become(killed)
	f.witness.bury(id)
	m.gate.end() // what hangs there never reaches the store
	m.gate.Inject(Fault{Kind: Fail})
	m.clock.resume()
	m.kill()
	m.stop()
	synctest.Wait()
}

// Drain takes an instance out of the active ones for the rest of its life: coordinator.BeginDrain.
func (f *Fleet[W]) Drain(id instance.ID) {
	f.t.Helper()
	m := f.must(id, "Drain", running)
	f.witness.note("%s begins to drain", id)
	_ = m.BeginDrain(f.t.Context()) // an error says that the store could not be told; the drain has begun
	synctest.Wait()
}

// Pause makes an instance stand still, as a long garbage collection, a SIGSTOP or a suspended machine does:
// it renews nothing, hears nothing and decides nothing, and nobody tells its workers when their
// term is over. Go cannot stop the workers themselves: they go on, as they would for the moment
// after the pause in which the process does not know yet. What they write under an invalid term is what a
// fencing token must stop. The witness does not count them as owners.
func (f *Fleet[W]) Pause(id instance.ID) {
	f.t.Helper()
	m := f.must(id, "Pause", running)
	synctest.Wait() // nothing is under way then
	m.become(paused)
	m.clock.pause()
	m.shut = m.gate.Inject(Fault{Kind: Hang})
	f.witness.pause(id, true)
}

// Resume lets a paused instance go on: it finds out what it has missed, and what it was about to send is
// sent.
func (f *Fleet[W]) Resume(id instance.ID) {
	f.t.Helper()
	m := f.must(id, "Resume", paused)
	m.become(running)
	f.witness.pause(id, false)
	m.clock.resume()
	m.shut.Lift()
	synctest.Wait()
}

// Cut parts an instance from the store, or from some contracts or methods of it, until Heal. For other
// faults see Faults.
func (f *Fleet[W]) Cut(id instance.ID, on ...Op) {
	f.t.Helper()
	m := f.must(id, "Cut", running, paused)
	f.witness.note("%s is cut off %v", id, on)
	m.faults.Cut(on...)
	synctest.Wait()
}

// Heal lifts all faults of an instance.
func (f *Fleet[W]) Heal(id instance.ID) {
	f.t.Helper()
	m := f.must(id, "Heal", running, paused)
	f.witness.note("%s is healed", id)
	m.faults.Heal()
	synctest.Wait()
}

// Faults returns what goes wrong between an instance and the store.
func (f *Fleet[W]) Faults(id instance.ID) *Faults {
	f.t.Helper()
	return f.must(id, "Faults", running, paused).faults
}

// Coordinator returns the coordinator of an instance, also of one that does not run any more.
func (f *Fleet[W]) Coordinator(id instance.ID) *coordinator.Coordinator[W] {
	f.t.Helper()
	return f.must(id, "Coordinator", running, paused, stopped, killed).Coordinator
}

// must returns an instance that is in one of the conditions, or fails the test.
func (f *Fleet[W]) must(id instance.ID, what string, in ...condition) *member[W] {
	f.t.Helper()
	m := f.find(id)
	if m == nil {
		f.t.Fatalf("%s: there is no instance %q; Start it first", what, id)
	}
	if slices.ContainsFunc(in, m.is) {
		return m
	}
	f.t.Fatalf("%s: the instance %q is %s", what, id, m.now)
	return nil
}
