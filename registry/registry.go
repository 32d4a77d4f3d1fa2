package registry

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/internal/fault"
)

// Generation names one state of the membership. It changes whenever a member joined, left,
// expired, began to drain or changed its description, and never for a mere heartbeat.
// Zero is no generation: "send me everything".
type Generation uint64

// Self is what an instance says of itself with each heartbeat.
type Self struct {
	Instance instance.Instance
	// JoinedAt is the join time that the store answered before; zero at the first heartbeat. A
	// store that has forgotten the instance takes it over instead of stamping a new one.
	JoinedAt time.Time
	// Draining is sticky: once marked, in the store or here, the mark stays for this instance's life.
	Draining bool
	// Leaving says that Run was told to stop: no drain mark, but no new workloads either.
	Leaving bool
}

// Member is one live instance as the store knows it.
type Member struct {
	instance.Instance
	// JoinedAt is the store's clock at the first heartbeat, written once.
	JoinedAt time.Time `json:"joinedAt"`
	Draining bool      `json:"draining,omitempty"`
	Leaving  bool      `json:"leaving,omitempty"`
	// TTLLeft is how long the member still lived, without another heartbeat, when the view was read.
	TTLLeft time.Duration `json:"ttlLeft"`
}

// View is the membership at one moment.
type View struct {
	// Generation of this view; pass it to the next Heartbeat.
	Generation Generation
	// Unchanged means that nothing but life times moved since the generation that was passed:
	// Members is nil, and the caller keeps what it had.
	Unchanged bool
	// Members are all live members, draining and leaving ones included, ordered by join time, then
	// ID. A member whose life has ended by the store's clock is never in it.
	Members []Member
	// NextExpiry is how long from now the earliest of the other members expires unless it beats
	// again; 0 where there is no other member. It is filled for an unchanged view as well.
	NextExpiry time.Duration
	// Self is this instance's own record; zero in an answer of Members.
	Self Member
}

// Active returns the members that may be given work, in order: neither draining nor leaving.
func (v View) Active() []Member {
	return slices.DeleteFunc(slices.Clone(v.Members), func(m Member) bool { return m.Draining || m.Leaving })
}

// Find returns the member with the ID.
func (v View) Find(id instance.ID) (Member, bool) {
	i := slices.IndexFunc(v.Members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		return Member{}, false
	}
	return v.Members[i], true
}

// Sort orders members by join time, then ID, as every View is. Stores call it.
func Sort(members []Member) {
	slices.SortFunc(members, func(a, b Member) int {
		return cmp.Or(a.JoinedAt.Compare(b.JoinedAt), strings.Compare(string(a.ID), string(b.ID)))
	})
}

// Registry (tenure.InstanceRegistry) is the membership contract of a store. Implementations are
// safe for concurrent use. Outcomes, contexts and clocks are as in lease.Manager: done, refused
// (ErrInvalid, ErrClosed, ErrReadOnlyStore) or unknown (ErrUnavailable); every call may be repeated;
// expiry is judged by the store's clock.
type Registry interface {
	// Heartbeat upserts the instance, extends its life to ttl from now and answers the membership
	// in one round trip, or Unchanged where its generation is known. The first heartbeat fixes
	// JoinedAt; later ones never move it. An instance that expired joins anew.
	Heartbeat(ctx context.Context, self Self, ttl time.Duration, known Generation) (View, error)
	// Members reads the membership without beating.
	Members(ctx context.Context) (View, error)
	// BeginDrain marks the instance as draining for the rest of its life. It is idempotent; an
	// unknown instance is no error and leaves no mark behind.
	BeginDrain(ctx context.Context, id instance.ID) error
	// Leave removes the instance, its drain mark and its join time at once. It is idempotent.
	Leave(ctx context.Context, id instance.ID) error
}

// Errors of a registry; the same values as in package lease.
var (
	ErrUnavailable   = fault.ErrUnavailable
	ErrInvalid       = fault.ErrInvalid
	ErrClosed        = fault.ErrClosed
	ErrReadOnlyStore = fault.ErrReadOnlyStore
)

// Check returns an error that matches ErrInvalid where a heartbeat cannot be sent. Stores call it before any I/O.
func Check(self Self, ttl time.Duration) error {
	if err := self.Instance.Check(); err != nil {
		return err
	}
	if self.JoinedAt.Before(time.Time{}) {
		return fault.Invalid("join time", fmt.Sprint(self.JoinedAt), "must be a time that the store answered")
	}
	return fault.CheckTTL("heartbeat TTL", ttl)
}
