package stores

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/lease"
)

// Fleet is what a store knows of a fleet before anything is asked of it.
type Fleet struct {
	// Exists: it was provisioned or used before, so that provisioning it has no effect.
	Exists bool
	// FrozenFor is how long its marker says that nothing new is granted. A server that lost data shows that with the next grant only.
	FrozenFor time.Duration
	// MaxTTL is the longest that anyone who used the fleet has named; zero where that is not known.
	MaxTTL time.Duration
}

// LookAt reads the marker of the handle's fleet. It changes nothing, and begins no fleet as a session would.
func LookAt(ctx context.Context, h Handle) (Fleet, error) {
	var f Fleet
	var err error
	switch h := h.(type) {
	case *redisHandle:
		f, err = h.fleet(ctx)
	case *postgresHandle:
		f, err = h.fleet(ctx)
	}
	if err != nil && !errors.Is(err, lease.ErrUnavailable) && !errors.Is(err, lease.ErrInvalid) {
		err = fmt.Errorf("%w: %w", lease.ErrUnavailable, err)
	}
	return f, err
}

func (h *redisHandle) fleet(ctx context.Context) (f Fleet, err error) {
	r, err := h.Check(ctx)
	if err != nil {
		return f, err
	}
	keys := strings.TrimSuffix(r.Keys, "*")
	marker, err := h.client.HMGet(ctx, keys+"marker", "incarnation", "frozen", "maxttl").Result()
	if err != nil {
		return f, err
	}
	// Records without a marker are a trace of the fleet as well.
	f.Exists = marker[0] != nil
	for _, name := range []string{"sessions", "leases"} {
		if f.Exists {
			break
		}
		n, err := h.client.HLen(ctx, keys+name).Result()
		if err != nil {
			return f, err
		}
		f.Exists = n > 0
	}
	f.MaxTTL = time.Duration(number(marker[2])) * time.Microsecond
	until := number(marker[1])
	if until == 0 {
		return f, nil
	}
	now, err := h.client.Time(ctx).Result()
	f.FrozenFor = max(time.UnixMicro(until).Sub(now), 0)
	return f, err
}

// number is a field of a marker; 0 where it is missing, or cannot be read and so says nothing.
func number(field any) int64 {
	text, _ := field.(string)
	n, err := redis.NewStringResult(text, nil).Int64()
	if err != nil {
		return 0
	}
	return n
}

func (h *postgresHandle) fleet(ctx context.Context) (f Fleet, err error) {
	conn, err := h.connect(ctx)
	if err != nil {
		return f, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	schema := h.cfg.Schema
	if schema == "" {
		schema = "tenure"
	}
	var thawed bool
	var left float64
	var longest int64
	err = conn.QueryRow(ctx, `SELECT thawed, extract(epoch FROM frozen_until - clock_timestamp())::float8, max_ttl_us FROM `+
		pgx.Identifier{schema, "fleet"}.Sanitize()+` WHERE fleet = $1`, h.cfg.Fleet).Scan(&thawed, &left, &longest)
	switch _, refused := errors.AsType[*pgconn.PgError](err); {
	case errors.Is(err, pgx.ErrNoRows), refused: // what the schema or the role lacks is told better by the call that follows
		return f, nil
	case err != nil:
		return f, err
	}
	f.Exists, f.MaxTTL = true, time.Duration(longest)*time.Microsecond
	if !thawed {
		f.FrozenFor = max(time.Duration(left*float64(time.Second)), 0)
	}
	return f, nil
}
