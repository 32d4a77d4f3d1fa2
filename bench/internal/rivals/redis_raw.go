package rivals

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// One read and one write of a sorted set of expiries, by the server's clock.
	renewScript = redis.NewScript(`
		local t = redis.call('TIME')
		local now = t[1] * 1000000 + t[2]
		local till = redis.call('ZSCORE', KEYS[1], ARGV[1])
		if till and tonumber(till) <= now then return 0 end
		redis.call('ZADD', KEYS[1], now + ARGV[2], ARGV[1])
		return 1`)
	batchScript = redis.NewScript(`
		local n = 0
		for i = 1, #KEYS do
			if redis.call('GET', KEYS[i]) == ARGV[1] then
				redis.call('PEXPIRE', KEYS[i], ARGV[2])
				n = n + 1
			end
		end
		return n`)
	lockScript = redis.NewScript(`
		if redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2]) then return redis.call('INCR', KEYS[2]) end
		return 0`)
	unlockScript = redis.NewScript(`
		if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
		redis.call('DEL', KEYS[1])
		if ARGV[2] == '1' then redis.call('PUBLISH', KEYS[3], KEYS[1]) end
		return 1`)
)

var errTaken = errors.New("the key is taken")

// RawRedis is hand-written Lua.
type RawRedis struct {
	Client *redis.Client
	// Owner tells this side from the other.
	Owner string
}

// RenewSession extends one record, which is all that keeps any number of leases in the session design.
func (r *RawRedis) RenewSession(ctx context.Context) error {
	n, err := renewScript.Run(ctx, r.Client, []string{"raw:sessions"}, r.Owner, 60_000_000).Int()
	if err == nil && n != 1 {
		err = errTaken
	}
	return err
}

// Fill makes n leases with an expiry of their own.
func (r *RawRedis) Fill(ctx context.Context, n int) error {
	p := r.Client.Pipeline()
	for i := range n {
		p.Set(ctx, rawKey(i), r.Owner, time.Hour)
	}
	_, err := p.Exec(ctx)
	return err
}

func rawKey(i int) string { return fmt.Sprintf("raw:lease:%05d", i) }

// RenewBatch extends the n leases, 500 in one script.
func (r *RawRedis) RenewBatch(ctx context.Context, n int) error {
	for from := 0; from < n; from += 500 {
		keys := make([]string, 0, 500)
		for i := from; i < min(from+500, n); i++ {
			keys = append(keys, rawKey(i))
		}
		got, err := batchScript.Run(ctx, r.Client, keys, r.Owner, 3_600_000).Int()
		if err != nil {
			return err
		}
		if got != len(keys) {
			return errTaken
		}
	}
	return nil
}

func (r *RawRedis) keys() []string { return []string{"{raw}:lock", "{raw}:token", "{raw}:hints"} }

func (r *RawRedis) try(ctx context.Context) (bool, error) {
	token, err := lockScript.Run(ctx, r.Client, r.keys(), r.Owner, 60_000).Int64()
	return token > 0, err
}

func (r *RawRedis) unlock(ctx context.Context, hint string) error {
	n, err := unlockScript.Run(ctx, r.Client, r.keys(), r.Owner, hint).Int()
	if err == nil && n != 1 {
		err = errTaken
	}
	return err
}

// Pair acquires one lease with a fencing token, and releases it.
func (r *RawRedis) Pair(ctx context.Context) error {
	ok, err := r.try(ctx)
	if err != nil || !ok {
		return errors.Join(err, errTaken)
	}
	return r.unlock(ctx, "0")
}

// Lock returns this side of a lock whose waiters are woken by pub/sub.
func (r *RawRedis) Lock(ctx context.Context) (Lock, func(), error) {
	sub := r.Client.Subscribe(ctx, r.keys()[2])
	if _, err := sub.Receive(ctx); err != nil {
		return nil, nil, err
	}
	return &rawLock{r, sub.Channel()}, func() { _ = sub.Close() }, nil
}

type rawLock struct {
	raw  *RawRedis
	hint <-chan *redis.Message
}

// Lock implements Lock.
func (l *rawLock) Lock(ctx context.Context) error {
	for {
		if ok, err := l.raw.try(ctx); ok || err != nil {
			return err
		}
		select {
		case <-l.hint:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Unlock implements Lock.
func (l *rawLock) Unlock(ctx context.Context) error { return l.raw.unlock(ctx, "1") }
