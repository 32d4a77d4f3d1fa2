package postgresstore

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"log/slog"
	mrand "math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/lease"
)

// notice is what travels in a notification. Its payload stays far below the 8 000 bytes that are allowed.
type notice struct {
	Kind     lease.ChangeKind `json:"k"`
	Key      string           `json:"key,omitempty"`
	Instance string           `json:"i,omitempty"`
	Ping     string           `json:"p,omitempty"` // of one watcher to itself
}

// channelName is a digest, since LISTEN cuts a long name silently. NOTIFY stays within one database by itself.
func channelName(schema, fleet string) string {
	sum := sha256.Sum256([]byte(schema + "\x00" + fleet))
	return "tenure_" + hex.EncodeToString(sum[:16])
}

func (s *Store) notice(n notice) stmt {
	payload, _ := json.Marshal(n) // three strings: it cannot fail
	return stmt{sql: s.q.notify, args: [][]byte{text(s.channel), payload}}
}

// hint is the statement that tells others of a change, to be sent behind the commit of it.
func (s *Store) hint(c lease.Change) *stmt {
	n := s.notice(notice{Kind: c.Kind, Key: c.Key, Instance: c.Instance})
	return &n
}

// tell sends a hint whose reason was known only after a call. It is lost if it fails.
func (s *Store) tell(ctx context.Context, c lease.Change) {
	_, _ = s.run(ctx, call{op: "notify", lane: s.steady, stmts: []stmt{*s.hint(c)}})
}

const (
	firstRetry   = 100 * time.Millisecond
	lastRetry    = 5 * time.Second
	deafRetry    = time.Minute     // where LISTEN was proven not to work
	slice        = 5 * time.Second // how long one wait for notifications is
	pingEvery    = time.Minute     // how often the whole path is proven anew
	pingPatience = 5 * time.Second // how long a ping may take
	pingTimeout  = 2 * time.Second // how long the server may take to answer on the same connection
)

// Watch implements lease.Watcher on a connection of its own, which it keeps: it connects again by
// itself, and calls f with a ChangeResync each time, so it returns only when ctx ends or the store
// is closed. It proves the whole path by sending itself a ping at start and every minute. Where
// LISTEN does not work (behind a transaction pooler it seems to, and nothing ever arrives) it
// says so once in the log, and looks again every minute; nothing but speed is lost.
func (s *Store) Watch(ctx context.Context, f func(lease.Change)) error {
	const op = "watch"
	if f == nil {
		return invalid("Watch function", "nil", "must not be nil; it receives the hints")
	}
	if err := s.up(ctx, op); err != nil {
		return err
	}
	inner, end := context.WithCancelCause(ctx)
	defer end(nil)
	defer context.AfterFunc(s.life, func() { end(lease.ErrClosed) })()
	retry := firstRetry
	for {
		proven, err := s.listenOnce(inner, f)
		if s.life.Err() != nil {
			return lease.ErrClosed
		}
		if ctx.Err() != nil {
			return unavailable(op, ended(ctx))
		}
		if proven {
			retry = firstRetry
		}
		if errors.Is(err, errDeaf) {
			if s.quiet.CompareAndSwap(false, true) {
				s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "tenure: LISTEN does not work here, so changes are found by polling; set Config.ListenDSN to the server itself",
					slog.String("fleet", s.fleet))
			}
			retry = deafRetry
		} else {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelDebug, "tenure: the LISTEN connection ended; connecting again", slog.Any("error", err))
		}
		pause(inner, retry/2+mrand.N(retry))
		retry = min(2*retry, lastRetry)
	}
}

var errDeaf = errors.New("postgresstore: a notification that was sent did not arrive")

// listenOnce serves one connection until it ends, and tells whether it was proven to work.
func (s *Store) listenOnce(ctx context.Context, f func(lease.Change)) (proven bool, err error) {
	dial, cancel := context.WithTimeout(ctx, defaultCallTimeout)
	defer cancel()
	conn, err := pgx.ConnectConfig(dial, s.listen)
	if err != nil {
		return false, err
	}
	defer func() {
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), 100*time.Millisecond)
		defer cancel()
		_ = conn.Close(bye)
	}()
	if err := conn.PgConn().Exec(dial, "LISTEN "+s.channel).Close(); err != nil {
		return false, err
	}
	// Subscribed: whatever happens from here on is hinted, and what happened before is looked for.
	f(lease.Change{Kind: lease.ChangeResync})
	e := ear{store: s, conn: conn, id: rand.Text()}
	for {
		if err := e.ping(ctx); err != nil {
			return e.proven, err
		}
		if err := e.wait(ctx, f); err != nil {
			return e.proven, err
		}
	}
}

// ear is one LISTEN connection and what it knows of itself.
type ear struct {
	store  *Store
	conn   *pgx.Conn
	id     string    // of its pings
	sent   time.Time // when the last ping was sent
	due    bool      // it has not arrived
	proven bool
}

// ping sends a notification to itself through an ordinary connection where one is due, and says
// errDeaf where the last one did not arrive. A ping that cannot be sent proves nothing.
func (e *ear) ping(ctx context.Context) error {
	if e.due && time.Since(e.sent) > pingPatience {
		return errDeaf
	}
	if e.due || !e.sent.IsZero() && time.Since(e.sent) < pingEvery {
		return nil
	}
	_, err := e.store.run(ctx, call{op: "ping", lane: e.store.bulk, stmts: []stmt{e.store.notice(notice{Ping: e.id})}})
	e.sent, e.due = time.Now(), err == nil
	return nil
}

// wait passes on what arrives within one slice. Where nothing did, it asks the server for a sign
// of life, or a connection that died without a word would never be noticed.
func (e *ear) wait(ctx context.Context, f func(lease.Change)) error {
	patience := slice
	if e.due {
		patience = pingPatience + time.Millisecond
	}
	part, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	n, err := e.conn.WaitForNotification(part)
	switch {
	case err == nil:
	case ctx.Err() != nil || part.Err() == nil || e.conn.IsClosed():
		return err
	default:
		alive, cancel := context.WithTimeout(ctx, pingTimeout)
		defer cancel()
		return e.conn.Ping(alive)
	}
	var got notice
	switch {
	case json.Unmarshal([]byte(n.Payload), &got) != nil:
		// Someone else's: it means nothing.
	case got.Ping == e.id:
		e.due, e.proven = false, true
	case got.Ping == "":
		f(lease.Change{Kind: got.Kind, Key: got.Key, Instance: got.Instance})
	}
	return nil
}
