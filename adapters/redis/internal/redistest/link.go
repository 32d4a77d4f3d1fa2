package redistest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Link is the network between one client and its server, and can be hurt. It works inside the client's
// dialer, so also in virtual time. Its zero value is a healthy link.
type Link struct {
	mu     sync.Mutex
	drops  int           // how many replies to scripts are still to be lost
	delay  time.Duration // before each request
	frozen bool          // requests are taken and lie there
	cut    bool          // nothing can be connected
	conns  map[*linkConn]struct{}
	sent   int // requests that carried a script
}

// errCut is what a dial over a cut link answers.
var errCut = errors.New("the link is cut")

// Through makes the options' client use the link.
func (l *Link) Through(o *redis.Options) *redis.Options {
	dial := o.Dialer
	if dial == nil {
		var d net.Dialer
		dial = d.DialContext
	}
	o.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		l.mu.Lock()
		cut := l.cut
		l.mu.Unlock()
		if cut {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errCut}
		}
		c, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return l.wrap(c), nil
	}
	return o
}

func (l *Link) wrap(c net.Conn) *linkConn {
	lc := &linkConn{Conn: c, link: l}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.conns == nil {
		l.conns = map[*linkConn]struct{}{}
	}
	l.conns[lc] = struct{}{}
	return lc
}

// DropReplies loses the replies of the next n scripts that the server carries out, each with its connection.
func (l *Link) DropReplies(n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drops = n
}

// Delay holds each request back for d.
func (l *Link) Delay(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
}

// Freeze takes requests and keeps them, as the buffers of a stopped server do. Thaw delivers them.
func (l *Link) Freeze() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.frozen = true
}

// Thaw ends a Freeze: what was kept arrives now, also what nobody waits for any more.
func (l *Link) Thaw() {
	l.mu.Lock()
	l.frozen = false
	var kept []*linkConn
	for c := range l.conns {
		kept = append(kept, c)
	}
	l.mu.Unlock()
	for _, c := range kept {
		c.flush()
	}
}

// Cut breaks every connection, and lets none be made until Mend.
func (l *Link) Cut() {
	l.mu.Lock()
	l.cut = true
	var all []*linkConn
	for c := range l.conns {
		all = append(all, c)
	}
	l.mu.Unlock()
	for _, c := range all {
		c.Close()
	}
}

// Mend ends a Cut.
func (l *Link) Mend() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = false
}

// Scripts returns how many requests with a script went over the link.
func (l *Link) Scripts() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.sent
}

// Conns returns how many connections are open.
func (l *Link) Conns() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.conns)
}

type linkConn struct {
	net.Conn
	link *Link

	mu     sync.Mutex
	kept   []byte // written while the link was frozen
	script bool   // the last request carried one
	closed bool
}

func (c *linkConn) Write(b []byte) (int, error) {
	l := c.link
	l.mu.Lock()
	delay, script := l.delay, bytes.Contains(bytes.ToLower(b), []byte("\r\neval"))
	if script {
		l.sent++
	}
	l.mu.Unlock()
	time.Sleep(delay)
	l.mu.Lock()
	frozen := l.frozen
	l.mu.Unlock()
	c.mu.Lock()
	c.script = script
	if frozen {
		c.kept = append(c.kept, b...)
		c.mu.Unlock()
		return len(b), nil
	}
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *linkConn) flush() {
	c.mu.Lock()
	kept, closed := c.kept, c.closed
	c.kept = nil
	c.mu.Unlock()
	if len(kept) > 0 {
		_, _ = c.Conn.Write(kept) // the connection may be gone, as its peer was for long
	}
	if closed {
		c.Conn.Close()
	}
}

func (c *linkConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	script := c.script
	c.mu.Unlock()
	if err == nil && script && !bytes.HasPrefix(b[:n], []byte("-NOSCRIPT")) && !bytes.HasPrefix(b[:n], []byte("-ERR")) && c.link.drop() {
		c.Close()
		return 0, io.ErrUnexpectedEOF
	}
	return n, err
}

func (l *Link) drop() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.drops == 0 {
		return false
	}
	l.drops--
	return true
}

// Close keeps the real connection while it has undelivered requests: the server will still get them.
func (c *linkConn) Close() error {
	c.link.mu.Lock()
	frozen := c.link.frozen
	c.link.mu.Unlock()
	c.mu.Lock()
	c.closed = true
	waiting := frozen && len(c.kept) > 0
	c.mu.Unlock()
	if waiting {
		// Wake up a reader, as closing would.
		return c.Conn.SetReadDeadline(time.Unix(1, 0))
	}
	c.link.mu.Lock()
	delete(c.link.conns, c)
	c.link.mu.Unlock()
	return c.Conn.Close()
}
