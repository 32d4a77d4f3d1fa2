package redistest

import (
	"bytes"
	"net"
	"sync"
	"time"
)

// buffered is a pipe whose writer does not wait for the reader, as a socket's does not. On a bare pipe a server that
// answers the first command of a pipeline and a client that still writes the second wait for each other.
type buffered struct {
	net.Conn
	queue  chan []byte
	closed chan struct{}
	once   sync.Once
}

func buffer(c net.Conn) net.Conn {
	b := &buffered{Conn: c, queue: make(chan []byte, 64), closed: make(chan struct{})}
	go b.drain()
	return b
}

func (b *buffered) drain() {
	for {
		select {
		case part := <-b.queue:
			if _, err := b.Conn.Write(part); err != nil {
				return // whoever reads is told as well
			}
		case <-b.closed:
			return
		}
	}
}

// Write puts p into the buffer.
func (b *buffered) Write(p []byte) (int, error) {
	select {
	case b.queue <- bytes.Clone(p):
		return len(p), nil
	case <-b.closed:
		return 0, net.ErrClosed
	}
}

// Close ends the connection; what the other side has not taken is lost.
func (b *buffered) Close() error {
	b.once.Do(func() { close(b.closed) })
	return b.Conn.Close()
}

// SetDeadline bounds reads alone: writes never wait.
func (b *buffered) SetDeadline(t time.Time) error { return b.Conn.SetReadDeadline(t) }

// SetWriteDeadline does nothing, for the same reason.
func (b *buffered) SetWriteDeadline(time.Time) error { return nil }
