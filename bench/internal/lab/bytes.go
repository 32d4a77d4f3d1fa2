package lab

import (
	"context"
	"net"
	"sync/atomic"
)

// Wire counts the bytes that go over the connections it dials, and can be cut. The zero value is ready.
type Wire struct {
	n   atomic.Int64
	cut atomic.Bool
}

// Bytes is how many there were, in both directions.
func (w *Wire) Bytes() int64 { return w.n.Load() }

// Cut has everything that is sent from now on vanish, without a word to either side. To the server, and to
// everybody else, it looks as if the client's machine had lost its power.
func (w *Wire) Cut() { w.cut.Store(true) }

// Dial is a dialer for a client of a store.
func (w *Wire) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if w.cut.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	c, err := (&net.Dialer{}).DialContext(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	return &wired{c, w}, nil
}

type wired struct {
	net.Conn
	wire *Wire
}

// Read implements net.Conn.
func (c *wired) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.wire.n.Add(int64(n))
	return n, err
}

// Write implements net.Conn.
func (c *wired) Write(b []byte) (int, error) {
	if c.wire.cut.Load() {
		return len(b), nil
	}
	n, err := c.Conn.Write(b)
	c.wire.n.Add(int64(n))
	return n, err
}
