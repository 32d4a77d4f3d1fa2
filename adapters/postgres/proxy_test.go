package postgresstore

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy is a network between one store handle and its server that can be made to fail.
type proxy struct {
	l net.Listener

	delay atomic.Int64 // nanoseconds before the server sees anything
	drop  atomic.Bool  // lose the next reply

	mu     sync.Mutex
	target string
	frozen chan struct{} // closed when it thaws; nil while it flows
	conns  map[net.Conn]struct{}
}

func newProxy(t testing.TB, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	p := &proxy{l: l, target: target, conns: map[net.Conn]struct{}{}}
	t.Cleanup(func() { l.Close(); p.cut() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go p.serve(c)
		}
	}()
	return p
}

// point leads new connections to another server, and ends those to the old one.
func (p *proxy) point(target string) {
	p.mu.Lock()
	p.target = target
	p.mu.Unlock()
	p.cut()
}

func (p *proxy) addr() string { return p.l.Addr().String() }

func (p *proxy) track(c net.Conn) {
	p.mu.Lock()
	p.conns[c] = struct{}{}
	p.mu.Unlock()
}

// cut ends all connections.
func (p *proxy) cut() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.Close()
	}
	clear(p.conns)
}

func (p *proxy) freeze() (thaw func()) {
	ch := make(chan struct{})
	p.mu.Lock()
	p.frozen = ch
	p.mu.Unlock()
	return sync.OnceFunc(func() {
		p.mu.Lock()
		p.frozen = nil
		p.mu.Unlock()
		close(ch)
	})
}

func (p *proxy) flow() {
	p.mu.Lock()
	ch := p.frozen
	p.mu.Unlock()
	if ch != nil {
		<-ch
	}
}

func (p *proxy) serve(client net.Conn) {
	p.track(client)
	defer client.Close()
	p.flow()
	p.mu.Lock()
	target := p.target
	p.mu.Unlock()
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	p.track(server)
	defer server.Close()
	var losing atomic.Bool // this connection's next reply is lost
	done := make(chan struct{}, 2)
	go func() {
		defer func() { done <- struct{}{} }()
		p.pump(server, client, func() {
			if d := p.delay.Load(); d > 0 {
				time.Sleep(time.Duration(d))
			}
			if p.drop.CompareAndSwap(true, false) {
				losing.Store(true)
			}
		}, nil)
	}()
	go func() {
		defer func() { done <- struct{}{} }()
		p.pump(client, server, nil, func() bool { return losing.Load() })
	}()
	<-done
}

// pump copies until an end closes, or until lost says that what was read is not to arrive.
func (p *proxy) pump(to io.Writer, from io.Reader, before func(), lost func() bool) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		p.flow()
		if before != nil {
			before()
		}
		if lost != nil && lost() {
			return
		}
		if _, err := to.Write(buf[:n]); err != nil {
			return
		}
	}
}
