package tenuretest_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
	"github.com/tenure-go/tenure/tenuretest"
)

// polite is work that does all that it is asked to.
func polite(ctx context.Context, term *runner.Term) error {
	select {
	case <-term.Draining():
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// deaf is work that knows nothing of draining.
func deaf(ctx context.Context, _ *runner.Term) error {
	<-ctx.Done()
	return ctx.Err()
}

// everywhere runs a test in real time and in a bubble.
func everywhere(t *testing.T, test func(t *testing.T)) {
	t.Run("real time", test)
	t.Run("bubble", func(t *testing.T) { synctest.Test(t, test) })
}

func TestDrainAsksAndTheWorkReturns(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		j := tenuretest.Start(t, polite, tenuretest.JobConfig{})
		if !j.Term().Valid() || j.Term().Key() != "job" || j.Term().Token() == 0 || j.Context().Err() != nil {
			t.Errorf("the term: %+v", j.Term().Lease())
		}
		j.Drain()
		if err := j.Wait(); err != nil {
			t.Errorf("Wait: %v", err)
		}
		if o := j.Outcome(); o.End != runner.EndStopped || o.Forced || o.Err != nil {
			t.Errorf("%+v", o)
		}
		if j.Term().Valid() {
			t.Error("the term is valid after its end")
		}
	})
}

func TestLossesReachTheWorkAtOnceWithTheirReason(t *testing.T) {
	for reason, lose := range map[lease.Reason]func(*tenuretest.Job){
		lease.ReasonExpired: (*tenuretest.Job).Lose,
		lease.ReasonRevoked: (*tenuretest.Job).Revoke,
	} {
		t.Run(string(reason), func(t *testing.T) {
			everywhere(t, func(t *testing.T) {
				j := tenuretest.Start(t, polite, tenuretest.JobConfig{})
				lose(j)
				if j.Context().Err() == nil || j.Term().Valid() {
					t.Error("the work was not told")
				}
				err := j.Wait()
				lost, ok := errors.AsType[*lease.LostError](err)
				if !ok || lost.Reason != reason || !errors.Is(err, lease.ErrLost) {
					t.Errorf("Wait: %v, want a loss: %s", err, reason)
				}
				if o := j.Outcome(); o.End != runner.EndLost || o.Reason != reason || o.Err != nil {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

func TestHelpersWasteNoTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		j := tenuretest.Start(t, polite, tenuretest.JobConfig{})
		for _, end := range []func(*tenuretest.Job){(*tenuretest.Job).Lose, (*tenuretest.Job).Drain, (*tenuretest.Job).Revoke} {
			end(j)
			_ = j.Wait()
			j = j.Next()
		}
		if took := time.Since(began); took > 10*time.Millisecond {
			t.Errorf("four terms took %v", took)
		}
	})
}

func TestCutEndsTheTermAtItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := tenuretest.Start(t, polite, tenuretest.JobConfig{})
		j.Faults().Cut()
		began := time.Now()
		<-j.Done()
		took := time.Since(began)
		lost, ok := errors.AsType[*lease.LostError](j.Wait())
		if !ok || lost.Reason != lease.ReasonUnreachable || took > 9*time.Second {
			t.Errorf("%v after %v", lost, took)
		}
	})
}

func TestDrainTimeoutCancelsTheWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := tenuretest.Start(t, deaf, tenuretest.JobConfig{Timing: lease.Timing{DrainTimeout: 5 * time.Second}})
		j.Drain()
		began := time.Now()
		if err := j.Wait(); !errors.Is(err, context.Canceled) || !errors.Is(context.Cause(j.Context()), drain.ErrTimeout) {
			t.Errorf("Wait: %v, cause %v", err, context.Cause(j.Context()))
		}
		if o := j.Outcome(); !o.Forced || o.Err != nil || time.Since(began) != 5*time.Second {
			t.Errorf("%+v after %v", o, time.Since(began))
		}
	})
}

func TestNextIsALaterTermOfTheSameKey(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		first := tenuretest.Start(t, polite, tenuretest.JobConfig{Key: "books"})
		first.Drain()
		_ = first.Wait()
		second := first.Next()
		second.Lose()
		third := second.Next() // the second has perhaps not returned
		if a, b, c := first.Term().Token(), second.Term().Token(), third.Term().Token(); a >= b || b >= c {
			t.Errorf("tokens %d, %d, %d", a, b, c)
		}
		if third.Term().Key() != "books" || second.Term().Valid() || !third.Term().Valid() {
			t.Error("the third does not hold the key, or not alone")
		}
	})
}

func TestZombieRunsBesideItsSuccessor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		go2 := make(chan struct{})
		j := tenuretest.Start(t, func(context.Context, *runner.Term) error { <-go2; return nil }, tenuretest.JobConfig{})
		j.Lose()
		next := j.Next()
		select {
		case <-j.Done():
			t.Error("the first has returned")
		default:
		}
		if j.Term().Valid() || !next.Term().Valid() {
			t.Error("the wrong one is valid")
		}
		close(go2)
		if err := j.Wait(); err != nil {
			t.Error(err)
		}
		_ = next.Wait()
	})
}

func TestWorkIsCalledOnceAndItsRunnerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int64
		j := tenuretest.Start(t, func(ctx context.Context, _ *runner.Term) error {
			calls.Add(1)
			<-ctx.Done()
			return nil
		}, tenuretest.JobConfig{})
		j.Lose()
		if err := j.Wait(); err != nil {
			t.Error(err)
		}
		pass(time.Hour)
		if n := calls.Load(); n != 1 {
			t.Errorf("the work was called %d times", n)
		}
	})
}

func TestWaitReturnsWhatTheWorkDid(t *testing.T) {
	oops := errors.New("disk full")
	for name, c := range map[string]struct {
		work runner.Work
		want func(error) bool
		end  runner.End
	}{
		"nil":   {func(context.Context, *runner.Term) error { return nil }, func(err error) bool { return err == nil }, runner.EndReturned},
		"error": {func(context.Context, *runner.Term) error { return oops }, func(err error) bool { return errors.Is(err, oops) && err.Error() == oops.Error() }, runner.EndFailed},
		"panic": {func(context.Context, *runner.Term) error { panic(oops) }, func(err error) bool {
			_, ok := errors.AsType[*runner.PanicError](err)
			return ok && errors.Is(err, oops)
		}, runner.EndPanicked},
		"goexit": {func(context.Context, *runner.Term) error { runtime.Goexit(); return nil }, func(err error) bool { return errors.Is(err, runner.ErrExited) }, runner.EndFailed},
	} {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T) {
				j := tenuretest.Start(t, c.work, tenuretest.JobConfig{})
				if err := j.Wait(); !c.want(err) {
					t.Errorf("Wait: %v", err)
				}
				if o := j.Outcome(); o.End != c.end {
					t.Errorf("%+v", o)
				}
			})
		})
	}
}

// asker counts requests to drain.
type asker struct{ n atomic.Int64 }

func (a *asker) RequestDrain() { a.n.Add(1) }

func TestDrainableIsToldOfADrainAndOfNothingElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var a asker
		j := tenuretest.Start(t, polite, tenuretest.JobConfig{Drainable: &a})
		j.Lose()
		_ = j.Wait()
		synctest.Wait()
		if n := a.n.Load(); n != 0 {
			t.Errorf("a loss asked %d times for a drain", n)
		}
		j = j.Next()
		j.Drain()
		_ = j.Wait()
		if n := a.n.Load(); n != 1 {
			t.Errorf("a drain asked %d times", n)
		}
	})
}

func TestCheckMeetsTheFaultsOfTheJob(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := tenuretest.Start(t, polite, tenuretest.JobConfig{})
		j.Faults().Inject(tenuretest.Fault{Kind: tenuretest.Fail, On: []tenuretest.Op{tenuretest.OpVerify}, Times: 1})
		if err := j.Term().Check(t.Context()); !errors.Is(err, lease.ErrUnavailable) || !j.Term().Valid() {
			t.Errorf("Check: %v", err)
		}
		if err := j.Term().Check(t.Context()); err != nil {
			t.Errorf("Check: %v", err)
		}
	})
}

func TestTermOutlivesAWipeOfItsStore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := tenuretest.Start(t, polite, tenuretest.JobConfig{})
		for range 3 {
			j.Faults().Wipe()
			pass(time.Minute)
		}
		if err := j.Term().Check(t.Context()); err != nil || !j.Term().Valid() {
			t.Errorf("Check: %v", err)
		}
	})
}

func TestLongTTLsAreHeldToo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := tenuretest.Start(t, polite, tenuretest.JobConfig{Timing: lease.Timing{LeaseTTL: time.Hour}})
		if left := j.Term().Left(); left < 50*time.Minute {
			t.Errorf("Left: %v", left)
		}
	})
}

func TestJobHelpersFailWithAReason(t *testing.T) {
	for name, c := range map[string]struct {
		test  func(t testing.TB)
		words []string
	}{
		"nil work": {func(t testing.TB) { tenuretest.Start(t, nil, tenuretest.JobConfig{}) }, []string{"the work is nil"}},
		"timing": {func(t testing.TB) {
			tenuretest.Start(t, polite, tenuretest.JobConfig{Timing: lease.Timing{LeaseTTL: 1}})
		}, []string{"Timing.LeaseTTL", "1ns", "must be between"}},
		"key": {func(t testing.TB) {
			tenuretest.Start(t, polite, tenuretest.JobConfig{Key: "tenure:x"})
		}, []string{"tenure:x", "reserved"}},
		"patience": {func(t testing.TB) {
			tenuretest.Start(t, polite, tenuretest.JobConfig{Patience: -1})
		}, []string{"JobConfig.Patience", "-1ns"}},
		"drain of finished work": {func(t testing.TB) {
			j := tenuretest.Start(t, func(context.Context, *runner.Term) error { return nil }, tenuretest.JobConfig{})
			<-j.Done()
			j.Drain()
		}, []string{`Drain: the work of "job" has returned by itself before: it returned nil`}},
		"loss of a lost term": {func(t testing.TB) {
			j := tenuretest.Start(t, func(ctx context.Context, _ *runner.Term) error {
				<-ctx.Done()
				time.Sleep(time.Second)
				return nil
			}, tenuretest.JobConfig{})
			j.Lose()
			j.Lose()
		}, []string{"is over already", "expired"}},
		"loss behind a broken store": {func(t testing.TB) {
			j := tenuretest.Start(t, polite, tenuretest.JobConfig{})
			j.Faults().Cut()
			j.Lose()
		}, []string{"cannot learn of it", "Heal"}},
		"next while the term lasts": {func(t testing.TB) {
			tenuretest.Start(t, polite, tenuretest.JobConfig{}).Next()
		}, []string{"Next", "still lasts"}},
		"wait for what nobody stops": {func(t testing.TB) {
			_ = tenuretest.Start(t, polite, tenuretest.JobConfig{Patience: 10 * time.Minute}).Wait()
		}, []string{"has not returned within 10m0s", "nobody has told it to", "tenuretest_test.polite"}},
		"failure that nobody looked at": {func(t testing.TB) {
			j := tenuretest.Start(t, func(context.Context, *runner.Term) error { return fmt.Errorf("disk full") }, tenuretest.JobConfig{})
			<-j.Done()
		}, []string{"disk full", "did not call Wait"}},
		"panic that nobody looked at": {func(t testing.TB) {
			j := tenuretest.Start(t, func(context.Context, *runner.Term) error { panic("oh no") }, tenuretest.JobConfig{})
			<-j.Done()
		}, []string{"oh no", "job_test.go"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { fails(t, c.test, c.words...) })
		})
	}
}

func TestWorkThatIgnoresEverythingIsNamed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		stubborn := func(context.Context, *runner.Term) error { <-free; return nil }
		fails(t, func(t testing.TB) {
			tenuretest.Start(t, stubborn, tenuretest.JobConfig{})
		}, "the test is over, but the work has not returned", "does it select on ctx.Done()?", "TestWorkThatIgnoresEverythingIsNamed")
		got := try(t, func(t testing.TB) {
			j := tenuretest.Start(t, stubborn, tenuretest.JobConfig{})
			j.Drain()
			_ = j.Wait()
		})
		if len(got) != 2 {
			t.Errorf("%d failures: %v", len(got), got)
		}
		close(free)
	})
}

func TestEndOfTheTestEndsAnIdleJob(t *testing.T) {
	for name, work := range map[string]runner.Work{"polite": polite, "deaf": deaf} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				passes(t, func(t testing.TB) { tenuretest.Start(t, work, tenuretest.JobConfig{}) })
				if took := time.Since(began); took != 0 {
					t.Errorf("the clean-up took %v", took)
				}
			})
		})
	}
}
