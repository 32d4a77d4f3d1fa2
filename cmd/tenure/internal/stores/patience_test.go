package stores

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/tenure-go/tenure/lease"
)

// deaf takes connections and never answers.
func deaf(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().String()
}

// A call lasts as long as its context, and what has none is still bounded: else a connection for hints would hang for ever.
func TestCallsLastAsLongAsTheirContexts(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"redis://", "redis+cluster://"} {
		h, err := Open(Config{URL: scheme + deaf(t), Fleet: "f", CallTimeout: 300 * time.Millisecond})
		if err != nil {
			t.Fatal(err)
		}
		defer h.Close()
		began := time.Now()
		if err := h.Watch(t.Context(), func(lease.Change) {}); err == nil || time.Since(began) > 30*time.Second {
			t.Errorf("%s: Watch ended after %v: %v", scheme, time.Since(began), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		began = time.Now()
		if _, err := h.ServerTime(ctx); err == nil || time.Since(began) > 30*time.Second || scheme == "redis://" && time.Since(began) < 900*time.Millisecond {
			t.Errorf("%s: a call ended after %v: %v", scheme, time.Since(began), err)
		}
	}
}
