package redisstore

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/redis/go-redis/v9"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
	"github.com/tenure-go/tenure/tick"
)

// One type keeps every contract and every optional capability.
var _ interface {
	lease.Manager
	lease.Lister
	lease.Watcher
	lease.Revoker
	lease.Provisioner
	registry.Registry
	status.Store
	assigner.Targets
	tick.Ticker
} = (*Store)(nil)

// Store is a handle on one fleet in Redis. It is safe for concurrent use, starts no goroutine
// that outlives a call but for calls that hang in the client, and keeps no state that matters: any
// number of handles may work on one fleet.
type Store struct {
	client redis.UniversalClient
	cfg    Config
	keys   keyset
	maxTTL string // Config.MaxTTL in µs
	log    *slog.Logger

	gate    gate
	horizon horizon
	old     atomic.Bool   // the server is older than 7.0
	newest  atomic.Uint64 // the newest incarnation that was answered
	checked atomic.Uint64 // the incarnation whose server was found fit, plus one

	closing context.Context // ends with Close
	close   context.CancelFunc
}

// New makes a handle on the fleet that cfg names. It does no I/O. The client stays the caller's: Close
// does not close it, and closing it ends the handle. Errors are *lease.InvalidError.
//
// A *redis.Ring is refused, and so is a cluster client that reads from replicas. A client that
// wraps another one is taken at its word.
func New(client redis.UniversalClient, cfg Config) (*Store, error) {
	if err := checkClient(client); err != nil {
		return nil, err
	}
	cfg, err := cfg.resolve(client)
	if err != nil {
		return nil, err
	}
	s := &Store{client: client, cfg: cfg, keys: newKeyset(cfg.Prefix, cfg.Fleet), maxTTL: ceil(cfg.MaxTTL), log: cfg.Logger}
	s.closing, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Close ends this handle: its calls answer lease.ErrClosed, calls under way return, and Watch
// ends. It lets go of no lease; those lapse, or are renewed through another handle. It always
// returns nil and may be called twice.
func (s *Store) Close() error {
	s.close()
	return nil
}

var (
	errUnproven = errors.New("the store is frozen and does not know the session; renew it")
	errDamaged  = errors.New("a record of the fleet could not be read and was removed as lost")
	errLate     = errors.New("the request reached the server after its sender had stopped waiting; nothing was done")
	errTurned   = errors.New("a new incarnation began between the parts of the call")
)
