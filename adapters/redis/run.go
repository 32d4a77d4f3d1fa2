package redisstore

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/lease"
)

// schemaVersion is the version of the records that this package reads and writes. A fleet's marker says which
// one a client must understand at least; an older client refuses to work rather than misread. A version that
// changes records writes the old ones until nobody is left who needs them, and then raises the marker's.
const schemaVersion = "1"

// most is how many keys one script works on. 500 take about a millisecond of the server's one thread.
const most = 500

// run executes the script and returns its answer, whose first element is "ok" or an outcome that
// the caller knows. Arguments 1 and 2 of every script are the schema version and MaxTTL.
func (s *Store) run(ctx context.Context, sc *script, keys []string, args ...string) (reply, error) {
	return bounded(ctx, s, sc.name, func(ctx context.Context) (reply, error) {
		raw, err := s.eval(ctx, s.client, sc, keys, args)
		return s.answer(sc, raw, err)
	})
}

func (s *Store) answer(sc *script, raw any, err error) (reply, error) {
	if err != nil {
		s.look(err)
		return nil, mapped(sc.name, err)
	}
	r, ok := raw.([]any)
	if !ok || len(r) == 0 {
		return nil, unavailable(sc.name, malformed(raw))
	}
	if r[0] == "schema" {
		theirs, _ := reply(r).text(1)
		return nil, invalid("schema version", schemaVersion, fmt.Sprintf(
			"the records of the fleet %q need version %s; run a version of Tenure that understands it", s.cfg.Fleet, theirs))
	}
	return r, nil
}

// look has a cluster's client find out anew where things are, after a node did not answer. By itself it
// does so once a minute and after redirections: until then it would ask a dead master.
func (s *Store) look(err error) {
	cluster, ok := s.client.(*redis.ClusterClient)
	if _, answered := errors.AsType[redis.Error](err); ok && !answered {
		cluster.ReloadState(context.Background()) // it returns at once, and reloads at most every 200 ms
	}
}

// evaluator is what runs a script: a client, or a pipeline that also waits for replicas.
type evaluator interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// unrepeated is a command that the client sends only once; see script.once.
type unrepeated struct{ *redis.Cmd }

// NoRetry is what the client asks before it sends a command again.
func (unrepeated) NoRetry() bool { return true }

// eval sends the script's hash, and its source where the server does not know it (yet, or after a
// restart, a failover or SCRIPT FLUSH).
func (s *Store) eval(ctx context.Context, on evaluator, sc *script, keys, args []string) (any, error) {
	all := s.arguments(args)
	if sc.roomy.source != "" && !s.old.Load() {
		raw, err := evalText(ctx, on, sc, sc.roomy, keys, all)
		if err == nil || !refusesLeave(err) {
			return raw, err
		}
		s.old.Store(true)
	}
	return evalText(ctx, on, sc, sc.plain, keys, all)
}

// arguments are those of a script, behind the two that every script has.
func (s *Store) arguments(args []string) []any {
	all := make([]any, 0, len(args)+2)
	all = append(all, schemaVersion, s.maxTTL)
	for _, a := range args {
		all = append(all, a)
	}
	return all
}

// refusesLeave tells a server before 7.0, which takes the first line for Lua, or a fork that knows
// the line and not the leave that it asks for.
func refusesLeave(err error) bool {
	text := err.Error()
	return strings.Contains(text, "compiling script") || strings.Contains(text, "near '#'") || strings.Contains(text, "shebang")
}

func evalText(ctx context.Context, on evaluator, sc *script, t text, keys []string, args []any) (any, error) {
	raw, err := evaluate(ctx, on, sc, "evalsha", t.hash, keys, args)
	if redis.HasErrorPrefix(err, "NOSCRIPT") {
		raw, err = evaluate(ctx, on, sc, "eval", t.source, keys, args)
	}
	return raw, err
}

func evaluate(ctx context.Context, on evaluator, sc *script, name, script string, keys []string, args []any) (any, error) {
	send, cmd := command(ctx, sc, name, script, keys, args)
	_ = on.Process(ctx, send) // the command has its error
	return cmd.Result()
}

// command makes what is sent, and what has its result.
func command(ctx context.Context, sc *script, name, script string, keys []string, args []any) (send redis.Cmder, cmd *redis.Cmd) {
	all := make([]any, 0, 3+len(keys)+len(args))
	all = append(all, name, script, len(keys))
	for _, k := range keys {
		all = append(all, k)
	}
	cmd = redis.NewCmd(ctx, append(all, args...)...)
	cmd.SetFirstKeyPos(3)
	if sc.once {
		return unrepeated{cmd}, cmd
	}
	return cmd, cmd
}

// head is how every answer of the lease contract begins.
type head struct {
	outcome     string
	now         int64
	incarnation lease.Incarnation
	cause       string
}

const headLength = 5

// runLease is run for scripts with the incarnation guard. It returns what follows the head.
func (s *Store) runLease(ctx context.Context, sc *script, args ...string) (head, reply, error) {
	sent := time.Now()
	r, err := s.run(ctx, sc, s.keys.forLeases(), args...)
	return s.leaseAnswer(sc.name, sent, r, err)
}

func (s *Store) leaseAnswer(op string, sent time.Time, r reply, err error) (head, reply, error) {
	if err != nil {
		return head{}, nil, err
	}
	h, err := r.head()
	if err != nil {
		return head{}, nil, unavailable(op, err)
	}
	s.horizon.note(sent, h.now)
	s.see(h.incarnation.Number)
	if h.cause != "" {
		s.log.LogAttrs(context.Background(), slog.LevelWarn, "tenure: the store began a new incarnation; nothing new is granted until living holders had time to assert what they hold",
			slog.String("fleet", s.cfg.Fleet), slog.String("cause", h.cause),
			slog.Uint64("incarnation", h.incarnation.Number), slog.Duration("frozenFor", h.incarnation.FrozenFor))
	}
	switch h.outcome {
	case "ok":
		return h, r[headLength:], nil
	case "lapsed":
		return head{}, nil, fmt.Errorf("redisstore: %s: %w", op, lease.ErrSessionLapsed)
	case "damaged":
		return head{}, nil, unavailable(op, errDamaged)
	case "unproven":
		return head{}, nil, unavailable(op, errUnproven)
	case "late":
		return head{}, nil, unavailable(op, errLate)
	}
	return head{}, nil, unavailable(op, malformed(h.outcome))
}
