package goroutine_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/internal/goroutine"
)

func TestCountsThoseOfTheBubbleThatStay(t *testing.T) {
	stop := make(chan struct{})
	defer close(stop)
	go func() { <-stop }() // of no bubble
	synctest.Test(t, func(t *testing.T) {
		pass := func(d time.Duration) {
			time.Sleep(d)
			synctest.Wait()
		}
		before := goroutine.Count(pass)
		end := make(chan struct{})
		for range 5000 { // more stacks than fit the first buffer
			go func() { <-end }()
		}
		go time.Sleep(3 * time.Second) // comes and goes
		if n := goroutine.Count(pass) - before; n != 5000 {
			t.Errorf("%d more, want 5000", n)
		}
		close(end)
		if n := goroutine.Count(pass) - before; n != 0 {
			t.Errorf("%d are left of those that have ended", n)
		}
	})
}
