package postgresstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/tenure-go/tenure/storetest"
)

// tables in the order in which their rows can be written.
var tables = []string{"fleet", "session", "lease", "member", "status_owner", "status", "plan", "target"}

// bench is one run of the suite: a way to the server, with a proxy before each handle.
type bench struct {
	srv    *server
	dsn    string // what the handles use
	listen string // where LISTEN goes; empty: the same
	sql    bool   // through database/sql
	maxTTL time.Duration

	mu      sync.Mutex
	handles map[storetest.Store]*proxy
}

func (b *bench) openPair(t *testing.T) (storetest.Store, storetest.Store) {
	fleet := freshFleet()
	return b.openOne(t, fleet), b.openOne(t, fleet)
}

func (b *bench) openOne(t *testing.T, fleet string) storetest.Store {
	through := func(dsn string) (string, *proxy) {
		u, err := url.Parse(dsn)
		must(t, err)
		p := newProxy(t, u.Host)
		u.Host = p.addr()
		return u.String(), p
	}
	dsn, p := through(b.dsn)
	cfg := Config{MaxTTL: b.maxTTL, ListenDSN: b.listen}
	if b.listen != "" {
		cfg.ListenDSN, _ = through(b.listen)
	}
	var s *Store
	var err error
	if b.sql {
		var db *sql.DB
		db, err = sql.Open("pgx", dsn)
		must(t, err)
		t.Cleanup(func() { db.Close() })
		s, err = NewSQL(ctx(t), db, fleet, cfg)
	} else {
		s, err = Open(dsn, fleet, cfg)
	}
	must(t, err)
	t.Cleanup(func() { s.Close() })
	b.mu.Lock()
	defer b.mu.Unlock()
	b.handles[s] = p
	return s
}

func (b *bench) proxy(s storetest.Store) *proxy {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.handles[s]
}

// wipe removes every row of the handle's fleet.
func (b *bench) wipe(t *testing.T, s storetest.Store) { b.put(t, s, nil) }

// put replaces the fleet's rows, as a server does that came up from an older copy of its files:
// its fingerprint is another one.
func (b *bench) put(t *testing.T, s storetest.Store, rows map[string]json.RawMessage) {
	c, err := pgx.Connect(ctx(t), b.srv.dsn())
	must(t, err)
	defer c.Close(context.Background())
	tx, err := c.Begin(ctx(t))
	must(t, err)
	fleet := s.(*Store).fleet
	for i := range tables {
		_, err := tx.Exec(ctx(t), fmt.Sprintf("DELETE FROM tenure.%s WHERE fleet = $1", tables[len(tables)-1-i]), fleet)
		must(t, err)
	}
	for _, table := range tables {
		if rows[table] == nil {
			continue
		}
		_, err := tx.Exec(ctx(t), fmt.Sprintf("INSERT INTO tenure.%[1]s SELECT * FROM json_populate_recordset(null::tenure.%[1]s, $1::json)", table), string(rows[table]))
		must(t, err)
	}
	_, err = tx.Exec(ctx(t), "UPDATE tenure.fleet SET life = 'another' WHERE fleet = $1", fleet)
	must(t, err)
	must(t, tx.Commit(ctx(t)))
}

func (b *bench) snapshot(t *testing.T, s storetest.Store) (restore func()) {
	c, err := pgx.Connect(ctx(t), b.srv.dsn())
	must(t, err)
	defer c.Close(context.Background())
	rows := map[string]json.RawMessage{}
	tx, err := c.BeginTx(ctx(t), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	must(t, err)
	defer tx.Rollback(context.Background())
	for _, table := range tables {
		var all *string
		must(t, tx.QueryRow(ctx(t), fmt.Sprintf("SELECT json_agg(t)::text FROM tenure.%s t WHERE fleet = $1", table), s.(*Store).fleet).Scan(&all))
		if all != nil {
			rows[table] = json.RawMessage(*all)
		}
	}
	return func() { b.put(t, s, rows) }
}

func (b *bench) faults() storetest.Faults {
	return storetest.Faults{
		DropReply: func(_ *testing.T, s storetest.Store) { b.proxy(s).drop.Store(true) },
		Delay:     func(_ *testing.T, s storetest.Store, d time.Duration) { b.proxy(s).delay.Store(int64(d)) },
		Freeze: func(t *testing.T, s storetest.Store) func() {
			thaw := b.proxy(s).freeze()
			t.Cleanup(thaw)
			return thaw
		},
		Wipe:     b.wipe,
		Snapshot: b.snapshot,
		Kill: func(_ *testing.T, s storetest.Store) {
			b.mu.Lock()
			defer b.mu.Unlock()
			for h, p := range b.handles {
				if h.(*Store).fleet == s.(*Store).fleet {
					p.cut()
				}
			}
		},
	}
}

// unit is the grain of time of the suite; a slow or busy machine needs a larger one.
func unit(t *testing.T) time.Duration {
	v := os.Getenv("TENURE_TEST_UNIT")
	if v == "" {
		return 500 * time.Millisecond
	}
	d, err := time.ParseDuration(v)
	must(t, err)
	return d
}

// beside lets the runs of the suite share their waiting time; long runs go one by one.
func beside(t *testing.T) {
	if !long() {
		t.Parallel()
	}
}

// conform runs the suite.
func conform(t *testing.T, b *bench) {
	t.Helper()
	b.handles = map[storetest.Store]*proxy{}
	cfg := storetest.Config{Open: b.openPair, Unit: unit(t), Faults: b.faults(), Lanes: 6}
	cfg.MaxTTL = 20 * cfg.Unit
	b.maxTTL = cfg.MaxTTL
	setup := open(t, b.srv.dsn(), freshFleet(), Config{})
	must(t, setup.Migrate(ctx(t)))
	storetest.Run(t, cfg)
}

// long runs what takes minutes only where the environment asks for it.
func long() bool { return os.Getenv("TENURE_LONG") == "1" }

func TestConformance(t *testing.T) {
	srv := needServer(t)
	beside(t)
	conform(t, &bench{srv: srv, dsn: srv.dsn()})
}

// Failure 63.
func TestConformanceThroughPgBouncer(t *testing.T) {
	srv := needServer(t)
	beside(t)
	conform(t, &bench{srv: srv, dsn: srv.bouncer(t), listen: srv.dsn()})
}

func TestConformanceOnDatabaseSQL(t *testing.T) {
	srv := needServer(t)
	if !long() {
		t.Skip("set TENURE_LONG=1: the calls are the same as those of Open, on connections of database/sql")
	}
	conform(t, &bench{srv: srv, dsn: srv.dsn(), sql: true})
}

// Settings of a role hold for every connection of it. "all" has the most awkward of each kind; the
// others tell which one it was, and run where the environment asks for long tests.
// Failure 7.
func TestConformanceUnderOddSettings(t *testing.T) {
	srv := needServer(t)
	formats := []string{"TimeZone = 'Asia/Kathmandu'", "IntervalStyle = 'sql_standard'", "DateStyle = 'SQL, DMY'", "search_path = weird, pg_temp",
		"extra_float_digits = -15", "bytea_output = 'escape'", "standard_conforming_strings = off", "synchronous_commit = off"}
	runs := map[string][]string{"all": append([]string{"default_transaction_isolation = 'serializable'"}, formats...)}
	if long() {
		runs["formats"] = formats
		runs["serializable"] = []string{"default_transaction_isolation = 'serializable'"}
		runs["repeatable_read"] = []string{"default_transaction_isolation = 'repeatable read'"}
	}
	for name, settings := range runs {
		t.Run(name, func(t *testing.T) {
			beside(t)
			role := "odd_" + name
			srv.exec(t, "CREATE ROLE "+role+" SUPERUSER LOGIN")
			for _, s := range settings {
				srv.exec(t, "ALTER ROLE "+role+" SET "+s)
			}
			conform(t, &bench{srv: srv, dsn: strings.Replace(srv.dsn(), "postgres@", role+"@", 1)})
		})
	}
}
