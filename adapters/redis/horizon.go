package redisstore

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"
)

// horizon tells the server until when, by its own clock, the sender of a request waits for it.
//
// A request can lie in the buffers of a stopped server or a slow network long after its sender gave up.
// If it were still carried out, an Acquire would grant a lease that nobody knows of and that lives as long
// as its session. Clocks need not agree for this: the server's time in any answer is later than the
// moment at which the request was sent.
type horizon struct{ last atomic.Pointer[sighting] }

// sighting is one reading of the server's clock, in µs, and a local time that was certainly before it.
type sighting struct {
	before time.Time
	server int64
}

func (h *horizon) note(before time.Time, server int64) {
	h.last.Store(&sighting{before, server})
}

// of returns the latest server time at which the context can still be waiting, as a script's argument;
// "0" where that is unknown. It errs on the late side: clocks may run differently fast.
func (h *horizon) of(ctx context.Context) string {
	last := h.last.Load()
	deadline, bounded := ctx.Deadline()
	if last == nil || !bounded {
		return "0"
	}
	ahead := deadline.Sub(last.before)
	ahead += ahead/100 + time.Millisecond
	return strconv.FormatInt(last.server+ahead.Microseconds(), 10)
}
