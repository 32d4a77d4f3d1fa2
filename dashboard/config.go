package dashboard

import (
	"fmt"
	"log/slog"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/registry"
	"github.com/tenure-go/tenure/status"
)

// Snapshotter is what a page needs of a coordinator; *coordinator.Coordinator is one. It is called from
// several goroutines.
type Snapshotter interface {
	Snapshot() coordinator.Snapshot
}

// Workload is one line of the catalogue: what there is to run.
type Workload struct {
	assigner.Workload
	// Name is for people; empty means that the key is shown.
	Name string
	// Alone says that the workload is not planned, such as the key of a singleton runner: whoever
	// asks first has it. It counts in no balance.
	Alone bool
}

// Config is what may be chosen; its zero value shows the fleet as the store knows it, and changes nothing.
type Config struct {
	// Title is the page's heading, at most 80 characters; default "Tenure".
	Title string
	// Coordinator is the one of this process, where there is one. It adds its plan, its catalogue, what its
	// workers are doing and its history to what the store knows.
	Coordinator Snapshotter
	// Catalogue answers what there is to run, so that the page can tell what has no owner. It is called
	// at every look, from one goroutine at a time, and must not block. Default: the coordinator's catalogue, and
	// where there is no coordinator, what has an owner or a status.
	Catalogue func() []Workload
	// Assigner explains why a workload is where it is, where there is no Coordinator to ask; give the one that the
	// fleet uses. Default as in package coordinator.
	Assigner assigner.Assigner
	// Timing is the fleet's: what is late, and how long the time bars are. Default: the coordinator's, or the
	// defaults of lease.Timing.
	Timing lease.Timing
	// Name says how an instance is called. Default: its label "name", or else the first parts of its ID.
	Name func(instance.Instance) string
	// Refresh is how often the store is read while somebody watches, however many they are: 100 ms to
	// 10 s, default 500 ms. A store that answers slowly is read less often.
	Refresh time.Duration
	// Background is how often Run reads the store while nobody watches: at least Refresh, default 5 s.
	Background time.Duration
	// CallTimeout bounds each read of the store and each action: 10 ms to 1 min, default 2 s.
	CallTimeout time.Duration
	// MaxStreams is how many live views may be open at once; more are refused and their pages refresh
	// now and then. Default 64; a negative value means none.
	MaxStreams int
	// Authorize, where it is set, lets the page act: drain an instance, revoke a lease. It is asked before each
	// action, and its error is shown to the caller, who gets 403. Nil: the page is read-only.
	Authorize func(r *http.Request, a Action) error
	// CrossOrigin guards actions against requests that a browser makes for another site; default
	// http.NewCrossOriginProtection(). Give one with trusted origins where a proxy changes the host.
	CrossOrigin *http.CrossOriginProtection
	// Logger is told of actions and of a store that does not answer; nil means silent.
	Logger *slog.Logger
}

// ActionKind is what an action does.
type ActionKind string

// The actions.
const (
	// ActionDrain marks an instance as draining for the rest of its life: it hands its workloads over.
	ActionDrain ActionKind = "drain"
	// ActionRevoke revokes the lease of a workload: its work is cancelled, and then anybody may take it.
	ActionRevoke ActionKind = "revoke"
)

// Action is what somebody asks the page to do.
type Action struct {
	Kind ActionKind
	// Instance is set for ActionDrain.
	Instance instance.ID
	// Key is set for ActionRevoke.
	Key string
}

const maxTitle = 80

// resolve fills in defaults and checks the rest.
func (c Config) resolve() (Config, error) {
	if c.Title == "" {
		c.Title = "Tenure"
	}
	if n := utf8.RuneCountInString(c.Title); n > maxTitle || !utf8.ValidString(c.Title) {
		return c, fault.Invalid("dashboard.Config.Title", c.Title, fmt.Sprintf("must be UTF-8 of at most %d characters", maxTitle))
	}
	const refresh = 500 * time.Millisecond
	if c.Refresh == 0 {
		c.Refresh = refresh
	}
	for _, d := range []struct {
		name        string
		value       *time.Duration
		or, lo, top time.Duration
	}{
		{"Refresh", &c.Refresh, refresh, 100 * time.Millisecond, 10 * time.Second},
		{"Background", &c.Background, max(5*time.Second, c.Refresh), c.Refresh, 24 * time.Hour},
		{"CallTimeout", &c.CallTimeout, 2 * time.Second, 10 * time.Millisecond, time.Minute},
	} {
		if *d.value == 0 {
			*d.value = d.or
		}
		if *d.value < d.lo || *d.value > d.top {
			return c, fault.Invalid("dashboard.Config."+d.name, *d.value, fmt.Sprintf("must be between %v and %v; zero means %v", d.lo, d.top, d.or))
		}
	}
	switch {
	case c.MaxStreams == 0:
		c.MaxStreams = 64
	case c.MaxStreams < 0:
		c.MaxStreams = 0
	}
	if c.Timing == (lease.Timing{}) && c.Coordinator != nil {
		c.Timing = c.Coordinator.Snapshot().Timing
	}
	var err error
	if c.Timing, err = c.Timing.Resolve(); err != nil {
		return c, fmt.Errorf("dashboard.Config: %w", err)
	}
	if c.CrossOrigin == nil {
		c.CrossOrigin = http.NewCrossOriginProtection()
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c, nil
}

// source is the store, taken apart so that the optional powers of each part are found.
type source struct {
	lister   lease.Lister    // nil: owners are taken from the statuses
	revoker  lease.Revoker   // nil: nothing can be revoked
	watchers []lease.Watcher // hints, for Run
	members  registry.Registry
	statuses status.Store
}

// open takes a store apart. Parts of a coordinator.Separate may be missing: what they would tell is not shown.
func open(store coordinator.Store) (source, error) {
	var s source
	var manager lease.Manager
	switch v := store.(type) {
	case nil:
		return s, fault.Invalid("store", "nil", "pass the store that the fleet uses")
	case coordinator.Separate:
		manager, s.members, s.statuses = v.Manager, v.Registry, v.Store
	case *coordinator.Separate:
		if v == nil {
			return s, fault.Invalid("store", "nil", "pass the store that the fleet uses")
		}
		manager, s.members, s.statuses = v.Manager, v.Registry, v.Store
	default:
		manager, s.members, s.statuses = store, store, store
	}
	if manager == nil && s.statuses == nil && s.members == nil {
		return s, fault.Invalid("store", "empty", "pass at least one part of the store that the fleet uses")
	}
	s.lister, _ = manager.(lease.Lister)
	s.revoker, _ = manager.(lease.Revoker)
	if w, ok := manager.(lease.Watcher); ok {
		s.watchers = append(s.watchers, w)
	}
	if w, ok := s.members.(lease.Watcher); ok && !sameStore(manager, s.members) {
		s.watchers = append(s.watchers, w)
	}
	return s, nil
}

// sameStore reports whether two parts are one store, whose hints need following only once.
func sameStore(a, b any) (same bool) {
	defer func() { _ = recover() }() // values that cannot be compared are two
	return a == b
}
