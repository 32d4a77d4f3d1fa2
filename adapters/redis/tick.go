package redisstore

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/tick"
)

// job is one script of a trip: what is sent, and what becomes of the answer.
type job struct {
	script *script
	keys   []string
	args   []string
	take   func(r reply, err error)

	whole bool       // send the source, since the server did not know the hash
	roomy bool       // what was sent asked for leave to write although memory is full
	cmd   *redis.Cmd // as sent last
}

// Tick implements tick.Ticker: the scripts of all parts in one pipeline. The server runs them one after another, each
// a step of its own, as if it had come alone. The client sends nothing of it again, since a renewal must not be.
func (s *Store) Tick(ctx context.Context, p tick.Parts) (a tick.Answers) {
	var jobs []*job
	add := func(sc *script, keys, args []string, take func(reply, error)) {
		jobs = append(jobs, &job{script: sc, keys: keys, args: args, take: take})
	}
	sent := time.Now()
	if x := p.Renew; x != nil {
		if a.Renew.Err = s.check(x.Session); a.Renew.Err == nil {
			add(renewScript, s.keys.forLeases(), renewArgs(x.Session), func(r reply, err error) {
				a.Renew.Value, a.Renew.Err = renewed(s.leaseAnswer(renewScript.name, sent, r, err))
			})
		}
	}
	if x := p.Verify; x != nil {
		if a.Verify.Err = s.check(x.Session, x.Leases...); a.Verify.Err == nil {
			for part := range parts(x.Leases) {
				add(verifyScript, s.keys.forLeases(), verifyArgs(x.Session, part), func(r reply, err error) {
					if h, r, err := s.leaseAnswer(verifyScript.name, sent, r, err); a.Verify.Err == nil {
						a.Verify.Err = verified(&a.Verify.Value, part, h, r, err)
					}
				})
			}
		}
	}
	if x := p.Heartbeat; x != nil {
		args, err := s.beatArgs(x.Self, x.TTL, x.Known)
		if a.Heartbeat.Err = err; err == nil {
			add(heartbeatScript, s.keys.forMembers(), args, func(r reply, err error) {
				a.Heartbeat.Value, a.Heartbeat.Err = beaten(x.Self.Instance.ID, x.TTL, r, err)
			})
		}
	}
	if x := p.PutStatus; x != nil {
		all, err := putArgs(x.Owner, x.TTL, x.Records)
		a.PutStatus = err
		for _, args := range all {
			add(putStatusScript, s.keys.forStatuses(), args, func(_ reply, err error) {
				if a.PutStatus == nil {
					a.PutStatus = err
				}
			})
		}
	}
	s.travel(ctx, jobs)
	if a.Verify.Err != nil {
		a.Verify.Value = lease.Verification{} // what the parts before said
	}
	return a
}

// travel sends the jobs together and hands each its answer.
func (s *Store) travel(ctx context.Context, jobs []*job) {
	if len(jobs) == 0 {
		return
	}
	_, err := bounded(ctx, s, "tick", func(ctx context.Context) (struct{}, error) {
		for todo := jobs; len(todo) > 0; {
			todo = s.round(ctx, todo)
		}
		return struct{}{}, nil
	})
	for _, j := range jobs {
		if err != nil { // a trip that was left behind may still touch the jobs, but for what they take
			j.take(nil, err)
			continue
		}
		raw, err := j.cmd.Result()
		j.take(s.answer(j.script, raw, err))
	}
}

// round sends the jobs in one pipeline and returns those which the server did not carry out, because it does not
// know the script, or the leave that it asks for. It does not take more than one but on a server that is new to them.
func (s *Store) round(ctx context.Context, jobs []*job) (again []*job) {
	pipe := s.client.Pipeline()
	for _, j := range jobs {
		t := j.script.plain
		if j.roomy = j.script.roomy.source != "" && !s.old.Load(); j.roomy {
			t = j.script.roomy
		}
		name, text := "evalsha", t.hash
		if j.whole {
			name, text = "eval", t.source
		}
		var send redis.Cmder
		send, j.cmd = command(ctx, j.script, name, text, j.keys, s.arguments(j.args))
		_ = pipe.Process(ctx, send) // queues it
	}
	_, _ = pipe.Exec(ctx) // each command has its error
	for _, j := range jobs {
		switch err := j.cmd.Err(); {
		case err == nil:
		case redis.HasErrorPrefix(err, "NOSCRIPT") && !j.whole:
			j.whole = true
			again = append(again, j)
		case j.roomy && refusesLeave(err):
			s.old.Store(true)
			j.whole = false
			again = append(again, j)
		}
	}
	return again
}
