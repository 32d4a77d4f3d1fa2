package redisstore

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// runReplicated is runLease for a script whose writes must have reached Config.MinReplicas replicas. WAIT
// counts for the writes of its own connection, so it travels right behind the script.
func (s *Store) runReplicated(ctx context.Context, sc *script, args []string) (head, reply, error) {
	args[3] = "1" // write even where nothing changes, so that a repeated call is waited for as well
	sent := time.Now()
	r, err := bounded(ctx, s, sc.name, func(ctx context.Context) (reply, error) {
		p := &replicated{s: s, client: s.client.(*redis.Client)}
		raw, err := s.eval(ctx, p, sc, s.keys.forLeases(), args)
		r, err := s.answer(sc, raw, err)
		if err == nil && r[0] == "ok" && p.confirmed < int64(s.cfg.MinReplicas) {
			return nil, unavailable(sc.name, fmt.Errorf("%d of %d replicas have confirmed the grant", p.confirmed, s.cfg.MinReplicas))
		}
		return r, err
	})
	return s.leaseAnswer(sc.name, sent, r, err)
}

// replicated sends a script and WAIT behind it through one connection.
type replicated struct {
	s         *Store
	client    *redis.Client
	confirmed int64
}

// Process sends the command, a script, and waits for the replicas.
func (p *replicated) Process(ctx context.Context, cmd redis.Cmder) error {
	limit := p.s.cfg.ReplicaTimeout
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	pipe := p.client.Pipeline()
	_ = pipe.Process(ctx, cmd) // queues it
	// WAIT with 0 ms would wait for ever.
	wait := pipe.Do(ctx, "WAIT", p.s.cfg.MinReplicas, max(limit.Milliseconds(), 1))
	_, err := pipe.Exec(ctx)
	p.confirmed, _ = wait.Int64()
	if err != nil && cmd.Err() == nil && wait.Err() != nil {
		cmd.SetErr(wait.Err()) // the script ran; that is not known of the replicas
	}
	return cmd.Err()
}
