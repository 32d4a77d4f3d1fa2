package stores

import (
	"context"
	"crypto/tls"
	"net"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// ruled is a driver's timeout where the contexts of the calls are to rule: longer than any of them.
const ruled = time.Hour

// patience lets calls take as long as their contexts allow, rather than the driver, which would cut each of them to one
// fixed time. What the driver does without any deadline, to find the nodes of a cluster or to greet a server, is still
// bounded. It is a hook of each client that talks to one server.
type patience struct {
	least time.Duration
	// until is the latest deadline of a call, in ns since 1970: the driver dials on a context of its own.
	until atomic.Int64
}

func newPatience(cfg Config) *patience { return &patience{least: cfg.CallTimeout} }

// bound gives the context a deadline where it has none.
func (p *patience) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithTimeout(ctx, p.least)
	}
	for until := p.until.Load(); deadline.UnixNano() > until && !p.until.CompareAndSwap(until, deadline.UnixNano()); {
		until = p.until.Load()
	}
	return ctx, func() {}
}

// DialHook implements redis.Hook.
func (p *patience) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (p *patience) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		ctx, cancel := p.bound(ctx)
		defer cancel()
		return next(ctx, cmd)
	}
}

// ProcessPipelineHook implements redis.Hook.
func (p *patience) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		ctx, cancel := p.bound(ctx)
		defer cancel()
		return next(ctx, cmds)
	}
}

// dialer connects for as long as the most patient call waits.
func (p *patience) dialer(o redis.Options) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		left := max(p.least, time.Until(time.Unix(0, p.until.Load())))
		ctx, cancel := context.WithTimeout(ctx, left)
		defer cancel()
		if o.TLSConfig == nil {
			o := o
			o.DialTimeout = left
			return redis.NewDialer(&o)(ctx, network, address)
		}
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		// A server without TLS waits for the end of what it takes for a command. The handshake ends before the call does, or
		// nobody would learn what was wrong.
		ctx, cancel = context.WithTimeout(ctx, left*9/10)
		defer cancel()
		secure := tls.Client(conn, o.TLSConfig)
		if err := secure.HandshakeContext(ctx); err != nil {
			conn.Close()
			if ctx.Err() != nil {
				err = &silentError{err}
			}
			return nil, err
		}
		return secure, nil
	}
}

// silentError is a TLS handshake that was not answered.
type silentError struct{ cause error }

// Error is one line.
func (e *silentError) Error() string { return "the TLS handshake was not answered: " + e.cause.Error() }

// Unwrap makes the cause be found.
func (e *silentError) Unwrap() error { return e.cause }
