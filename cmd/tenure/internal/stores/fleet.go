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
	marker, err := h.client.HMGet(ctx, keys+"marker", "incarnation", "frozen").Result()
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
	text, ok := marker[1].(string)
	if !ok {
		return f, nil
	}
	until, err := redis.NewStringResult(text, nil).Int64()
	if err != nil {
		return f, nil //nolint:nilerr // what cannot be read says nothing of a freeze
	}
	now, err := h.client.Time(ctx).Result()
	f.FrozenFor = max(time.UnixMicro(until).Sub(now), 0)
	return f, err
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
	err = conn.QueryRow(ctx, `SELECT thawed, extract(epoch FROM frozen_until - clock_timestamp())::float8 FROM `+
		pgx.Identifier{schema, "fleet"}.Sanitize()+` WHERE fleet = $1`, h.cfg.Fleet).Scan(&thawed, &left)
	switch _, refused := errors.AsType[*pgconn.PgError](err); {
	case errors.Is(err, pgx.ErrNoRows), refused: // what the schema or the role lacks is told better by the call that follows
		return f, nil
	case err != nil:
		return f, err
	}
	f.Exists = true
	if !thawed {
		f.FrozenFor = max(time.Duration(left*float64(time.Second)), 0)
	}
	return f, nil
}
