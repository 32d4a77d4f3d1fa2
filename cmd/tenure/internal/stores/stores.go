package stores

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// Store is every contract and every optional capability: what both adapters offer.
type Store interface {
	lease.Manager
	lease.Lister
	lease.Revoker
	lease.Provisioner
	lease.Watcher
	registry.Registry
	status.Store
	Close() error
}

// Handle is an open store and what else can be done with its server.
type Handle interface {
	Store
	// Where is the store's URL without its password.
	Where() string
	// Inspect looks at the server's settings. It changes nothing.
	Inspect(ctx context.Context) (Report, error)
	// ServerTime reads the server's clock.
	ServerTime(ctx context.Context) (time.Time, error)
	// Migrate brings the server's schema up to date; ErrNoSchema where the store has none.
	Migrate(ctx context.Context) error
	// Scratch names a place for fleets that nobody else sees: a prefix or a schema. It does no I/O.
	Scratch(name string, maxTTL time.Duration) Scratch
}

// Scratch is a place for throw-away fleets.
type Scratch interface {
	// Prepare makes the place.
	Prepare(ctx context.Context) error
	// Open returns a handle of its own on the fleet.
	Open(fleet string) (Store, error)
	// Wipe makes the store lose all it knows of the fleet; nil where that cannot happen to such a store.
	Wipe() func(ctx context.Context, fleet string) error
	// Remove removes everything that was made.
	Remove(ctx context.Context) error
}

// ErrNoSchema means that the store keeps no schema, so there is nothing to migrate.
var ErrNoSchema = errors.New("this store has no schema")

// Config names a fleet in a store.
type Config struct {
	URL, Fleet string
	// Prefix is for Redis, Schema for PostgreSQL; empty means "tenure".
	Prefix, Schema string
	// MaxTTL is the fleet's longest session TTL; zero means lease.DefaultMaxTTL.
	MaxTTL time.Duration
	// CallTimeout bounds calls whose context has no deadline, and connecting where several hosts may answer; zero means 2 s.
	CallTimeout time.Duration
	Logger      *slog.Logger `json:"-"`
}

// Report is what a look at a server found.
type Report struct {
	// Server says what answers, such as "Redis 7.0.15 (standalone)".
	Server string
	// Details are further facts, such as the key pattern of the fleet.
	Details []Detail
	// Findings, the gravest first; empty where all is well.
	Findings []Finding
}

// Detail is one fact.
type Detail struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Finding is a setting that weakens what the store can promise.
type Finding struct {
	// Fatal: the store does not work, or refuses to.
	Fatal   bool   `json:"fatal"`
	Setting string `json:"setting"`
	Value   string `json:"value"`
	Meaning string `json:"meaning"`
	Remedy  string `json:"remedy"`
}

// opener opens one kind of store.
type opener func(cfg Config) (Handle, error)

func openers() map[string]opener {
	return map[string]opener{
		"redis": openRedis, "rediss": openRedis,
		"redis+sentinel": openSentinel, "rediss+sentinel": openSentinel,
		"redis+cluster": openCluster, "rediss+cluster": openCluster,
		"postgres": openPostgres, "postgresql": openPostgres,
	}
}

// Schemes are the URL schemes that Open knows.
func Schemes() []string {
	return []string{"redis://", "rediss://", "redis+sentinel://", "redis+cluster://", "postgres://"}
}

// Open makes a handle without any I/O. Errors match lease.ErrInvalid, are one line and name the remedy.
func Open(cfg Config) (Handle, error) {
	scheme, _, ok := strings.Cut(cfg.URL, "://")
	open := openers()[scheme]
	switch {
	case cfg.URL == "":
		return nil, invalid("--store is missing: give it, or set TENURE_STORE, as in redis://127.0.0.1:6379/0")
	case !ok || open == nil:
		return nil, invalid("--store: the URL must begin with one of %s", strings.Join(Schemes(), " "))
	case cfg.Fleet == "":
		return nil, invalid("--fleet must not be empty: leave it out for the fleet \"default\"")
	}
	postgres := strings.HasPrefix(scheme, "postgres")
	if postgres && cfg.Prefix != "" {
		return nil, invalid("--prefix is for Redis: use --schema with PostgreSQL")
	}
	if !postgres && cfg.Schema != "" {
		return nil, invalid("--schema is for PostgreSQL: use --prefix with Redis")
	}
	if cfg.MaxTTL == 0 {
		cfg.MaxTTL = lease.DefaultMaxTTL
	}
	if cfg.CallTimeout == 0 {
		cfg.CallTimeout = 2 * time.Second
	}
	h, err := open(cfg)
	if err != nil {
		return nil, usable(err)
	}
	return h, nil
}

// invalidError is an argument that cannot be used.
type invalidError struct{ text string }

// Error is one line.
func (e *invalidError) Error() string { return e.text }

// Is makes errors.Is(err, lease.ErrInvalid) hold.
func (e *invalidError) Is(target error) bool { return target == lease.ErrInvalid }

func invalid(format string, args ...any) error { return &invalidError{fmt.Sprintf(format, args...)} }

// usable rewrites what an adapter says about its configuration, which is about fields, for a command line.
func usable(err error) error {
	bad, ok := errors.AsType[*lease.InvalidError](err)
	if !ok {
		return err
	}
	flags := map[string]string{"Config.Fleet": "--fleet", "fleet": "--fleet", "Config.Prefix": "--prefix", "Config.Schema": "--schema", "Config.MaxTTL": "--max-ttl"}
	_, field, found := strings.Cut(bad.Field, ": ") // behind the adapter's name
	if !found {
		field = bad.Field
	}
	if flag := flags[field]; flag != "" {
		return invalid("%s %s: %s", flag, bad.Value, bad.Remedy)
	}
	return err
}

// gravest puts fatal findings first.
func gravest(f []Finding) []Finding {
	slices.SortStableFunc(f, func(a, b Finding) int {
		switch {
		case a.Fatal == b.Fatal:
			return 0
		case a.Fatal:
			return -1
		}
		return 1
	})
	return f
}
