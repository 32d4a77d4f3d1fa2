package tenuretest

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/tenure-go/tenure/runner"
)

// What follows happens in life only when two things do in the same microsecond.

type counter int

func (c *counter) RequestDrain() { *c++ }

func TestRunnerThatGoesOnAfterALossFindsNoMoreWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls, requests counter
		j := Start(t, func(ctx context.Context, _ *runner.Term) error {
			calls++
			<-ctx.Done()
			return nil
		}, JobConfig{Drainable: &requests})
		j.Lose()
		_ = j.Wait()
		if err := j.run(t.Context(), j.term); err != nil || calls != 1 {
			t.Errorf("a later term called the work: %d calls, %v", calls, err)
		}
		if (requester{j}).RequestDrain(); requests != 0 {
			t.Error("the stop after a loss was passed on as a drain")
		}
	})
}
