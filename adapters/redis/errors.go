package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/lease"
)

func invalid(field string, value any, remedy string) error {
	return &lease.InvalidError{Field: "redisstore: " + field, Value: fmt.Sprint(value), Remedy: remedy}
}

// renamed says which field of ours the core's check has refused.
func renamed(err error, field string) error {
	if e, ok := errors.AsType[*lease.InvalidError](err); ok {
		return invalid(field, e.Value, e.Remedy)
	}
	return err
}

func unavailable(op string, cause error) error {
	if errors.Is(cause, lease.ErrUnavailable) {
		return cause
	}
	return fmt.Errorf("redisstore: %s: %w: %w", op, lease.ErrUnavailable, cause)
}

// ended is the error of a call whose context has ended.
func ended(ctx context.Context, op string) error {
	cause := context.Cause(ctx)
	if errors.Is(cause, ctx.Err()) {
		return unavailable(op, cause)
	}
	return unavailable(op, fmt.Errorf("%w: %w", ctx.Err(), cause))
}

// mapped gives a driver's error its place among the contract's outcomes, and keeps it inside. What is
// not known to have been refused is unknown.
func mapped(op string, err error) error {
	switch {
	case errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("redisstore: %s: %w: the Redis client was closed: %w", op, lease.ErrClosed, err)
	case redis.IsReadOnlyError(err):
		// Only a server that is a replica answers so, and before it does anything. It may be the former
		// master of a failover that is under way: callers ask again.
		return fmt.Errorf("redisstore: %s: %w: %w", op, lease.ErrReadOnlyStore, err)
	case strings.HasPrefix(err.Error(), "WRONGTYPE") || strings.Contains(err.Error(), "-WRONGTYPE"):
		return unavailable(op, fmt.Errorf("another application uses a key of this fleet; choose another Config.Prefix: %w", err))
	}
	return unavailable(op, err)
}
