package rivals

import (
	"context"
	"fmt"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const lockTTL = 30 * time.Second

// Redislock is bsm/redislock. It tries once by default; Every is the LinearBackoff that its README shows at
// 100 ms.
type Redislock struct {
	client *redislock.Client
	key    string
	every  time.Duration
	lock   *redislock.Lock
}

// NewRedislock returns one side of the lock.
func NewRedislock(c *redis.Client, key string, every time.Duration) *Redislock {
	return &Redislock{client: redislock.New(c), key: key, every: every}
}

// Lock implements Lock.
func (r *Redislock) Lock(ctx context.Context) (err error) {
	r.lock, err = r.client.Obtain(ctx, r.key, lockTTL, &redislock.Options{RetryStrategy: redislock.LinearBackoff(r.every)})
	return err
}

// Unlock implements Lock.
func (r *Redislock) Unlock(ctx context.Context) error { return r.lock.Release(ctx) }

// Pair obtains one lock and releases it.
func (r *Redislock) Pair(ctx context.Context) error {
	l, err := r.client.Obtain(ctx, r.key, lockTTL, nil)
	if err != nil {
		return err
	}
	return l.Release(ctx)
}

// RedislockMany obtains n locks and returns what refreshes all of them, one by one: there is no other way.
func RedislockMany(ctx context.Context, c *redis.Client, n int) (refresh func(context.Context) error, err error) {
	client := redislock.New(c)
	locks := make([]*redislock.Lock, n)
	for i := range locks {
		if locks[i], err = client.Obtain(ctx, fmt.Sprintf("redislock:%05d", i), time.Hour, nil); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context) error {
		for _, l := range locks {
			if err := l.Refresh(ctx, time.Hour, nil); err != nil {
				return err
			}
		}
		return nil
	}, nil
}

// Redsync is go-redsync/redsync on one pool.
type Redsync struct{ mutex *redsync.Mutex }

// NewRedsync returns one side of the lock. By default it tries 32 times, 50 to 250 ms apart; a wait above 0
// replaces that.
func NewRedsync(c *redis.Client, key string, every time.Duration) *Redsync {
	options := []redsync.Option{redsync.WithExpiry(lockTTL), redsync.WithTries(1 << 20)}
	if every > 0 {
		options = append(options, redsync.WithRetryDelay(every))
	}
	return &Redsync{redsync.New(goredis.NewPool(c)).NewMutex(key, options...)}
}

// Lock implements Lock.
func (r *Redsync) Lock(ctx context.Context) error { return r.mutex.LockContext(ctx) }

// Unlock implements Lock.
func (r *Redsync) Unlock(ctx context.Context) error {
	_, err := r.mutex.UnlockContext(ctx)
	return err
}

// Pair locks and unlocks.
func (r *Redsync) Pair(ctx context.Context) error {
	if err := r.Lock(ctx); err != nil {
		return err
	}
	return r.Unlock(ctx)
}

// Rueidislock is redis/rueidis/rueidislock on one server.
type Rueidislock struct {
	locker rueidislock.Locker
	key    string
	cancel context.CancelFunc
}

// NewRueidislock returns one side of the lock, with a majority of one key.
func NewRueidislock(addr, key string) (*Rueidislock, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}}, KeyMajority: 1,
	})
	if err != nil {
		return nil, err
	}
	return &Rueidislock{locker: l, key: key}, nil
}

// Close ends its connections.
func (r *Rueidislock) Close() { r.locker.Close() }

// Lock implements Lock.
func (r *Rueidislock) Lock(ctx context.Context) (err error) {
	_, r.cancel, err = r.locker.WithContext(ctx, r.key)
	return err
}

// Unlock implements Lock.
func (r *Rueidislock) Unlock(context.Context) error {
	r.cancel()
	return nil
}

// Pair locks and unlocks.
func (r *Rueidislock) Pair(ctx context.Context) error {
	if err := r.Lock(ctx); err != nil {
		return err
	}
	return r.Unlock(ctx)
}
