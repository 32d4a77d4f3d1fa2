package rivals

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
)

// Lock is one process's handle on an exclusive lock that two processes hand to and fro.
type Lock interface {
	// Lock waits until the lock is held.
	Lock(ctx context.Context) error
	// Unlock lets go of it.
	Unlock(ctx context.Context) error
}

const (
	// most is the longest that one handover may take.
	most = 30 * time.Second
	// forgotten is after how long a waiter begins anew, since nobody wakes it any more.
	forgotten = 5 * time.Second
)

// persist locks, and begins anew where a wake-up was lost: that counts as a handover of so long.
func persist(ctx context.Context, l Lock) error {
	for {
		try, cancel := context.WithCancel(ctx)
		alarm := time.AfterFunc(forgotten, cancel)
		err := l.Lock(try)
		if alarm.Stop() || err == nil || ctx.Err() != nil {
			return err // a lock may live as long as the context that it was taken with
		}
	}
}

// Handovers has a and b hand their lock over n times, and returns for each the time in milliseconds from
// the call of Unlock until the other side holds it. The other side has waited for at least settle by then, and
// for up to twice as long: at a random phase of its timer.
func Handovers(ctx context.Context, a, b Lock, n int, settle time.Duration) ([]float64, error) {
	ctx, cancel := context.WithTimeout(ctx, most+time.Duration(n)*(2*settle+5*time.Second))
	defer cancel()
	if err := a.Lock(ctx); err != nil {
		return nil, err
	}
	var took []float64
	for range n {
		type got struct {
			at  time.Time
			err error
		}
		done := make(chan got, 1)
		go func() {
			err := persist(ctx, b)
			done <- got{time.Now(), err}
		}()
		time.Sleep(settle + rand.N(settle+1))
		began := time.Now()
		if err := a.Unlock(ctx); err != nil {
			return nil, fmt.Errorf("unlock: %w", err)
		}
		g := <-done
		if g.err != nil {
			return nil, fmt.Errorf("lock: %w", g.err)
		}
		took = append(took, float64(g.at.Sub(began))/float64(time.Millisecond))
		a, b = b, a
	}
	return took, a.Unlock(ctx)
}
