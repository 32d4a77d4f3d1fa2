package dashboard

import (
	"time"

	"github.com/tenure-go/tenure/assigner"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
)

// View is the JSON twin of the page: what it answers to "Accept: application/json". Times named At and
// Since are the store's clock where the store knows them; durations are milliseconds.
type View struct {
	Title string `json:"title"`
	// At is when the store was read, by this machine's clock; zero before it ever was.
	At      time.Time `json:"at"`
	Verdict Verdict   `json:"verdict"`
	Counts  Counts    `json:"counts"`
	// Members are the live instances in the order of joining. Then come owners that are no members.
	Members   []Member `json:"members"`
	Workloads Listing  `json:"workloads"`
	// Workload is the one that was asked for with ?w=KEY.
	Workload *Detail `json:"workload,omitempty"`
	Balance  Balance `json:"balance"`
	// Plan is the coordinator's, where there is one.
	Plan *Plan `json:"plan,omitempty"`
	// Events are the newest, newest first.
	Events []Event `json:"events"`
	// Actions lists what this page can do; empty where it is read-only.
	Actions []ActionKind `json:"actions"`
}

// Level is how a verdict is meant.
type Level string

// The levels.
const (
	Good    Level = "good"    // nothing to do
	Busy    Level = "busy"    // something is under way, or about to be
	Bad     Level = "bad"     // somebody should look
	Unknown Level = "unknown" // the page cannot tell
)

// Verdict is the state of the fleet in one sentence.
type Verdict struct {
	Level Level  `json:"level"`
	Text  string `json:"text"`
}

// State is where a workload stands in the fleet.
type State string

// The states, the worst first.
const (
	Stuck        State = "stuck"        // its worker has ignored its cancellation, or takes too long to wind down
	Unowned      State = "unowned"      // nobody holds it
	Transferring State = "transferring" // it is held and being wound down
	Starting     State = "starting"     // it is held, and no work has reported yet
	Inactive     State = "inactive"     // its last work has returned and nobody holds it: finished, or about to start again
	Active       State = "active"       // it is held and its work runs
)

// states, the worst first, for choosing the colour of a cell that stands for several.
var states = []State{Stuck, Unowned, Transferring, Starting, Inactive, Active}

// Counts says how many workloads there are in all, and in each state.
type Counts struct {
	Workloads    int `json:"workloads"`
	Owned        int `json:"owned"`
	Active       int `json:"active"`
	Starting     int `json:"starting"`
	Transferring int `json:"transferring"`
	Unowned      int `json:"unowned"`
	Inactive     int `json:"inactive"`
	Stuck        int `json:"stuck"`
	// Members are live; ActiveMembers may be given work.
	Members       int `json:"members"`
	ActiveMembers int `json:"activeMembers"`
}

func (c *Counts) of(s State) *int {
	switch s {
	case Stuck:
		return &c.Stuck
	case Unowned:
		return &c.Unowned
	case Transferring:
		return &c.Transferring
	case Starting:
		return &c.Starting
	case Inactive:
		return &c.Inactive
	}
	return &c.Active
}

// Member is an instance.
type Member struct {
	instance.Instance
	Name     string    `json:"name"`
	JoinedAt time.Time `json:"joinedAt"`
	Draining bool      `json:"draining,omitempty"`
	Leaving  bool      `json:"leaving,omitempty"`
	// Stranger says that it holds something and is no member: it has died, or runs without a coordinator.
	Stranger bool `json:"stranger,omitempty"`
	// Late says that it has missed heartbeats.
	Late bool `json:"late,omitempty"`
	// Here says that the page is served by this instance.
	Here bool `json:"here,omitempty"`
	// Roles are the fleet's own offices that it holds, such as the planner's.
	Roles []string `json:"roles,omitempty"`
	// TTLLeftMs is how long it still counted as alive, without another heartbeat, at View.At; TTLMs is the whole.
	TTLLeftMs float64 `json:"ttlLeftMs"`
	TTLMs     float64 `json:"ttlMs"`
	// HeartbeatAgeMs is TTLMs - TTLLeftMs.
	HeartbeatAgeMs float64 `json:"heartbeatAgeMs"`
	// LeaseLeftMs is what the session of this process has left; of others the store does not tell.
	LeaseLeftMs float64 `json:"leaseLeftMs,omitempty"`
	// Held counts the workloads that it holds, Planned those of them that an assigner spreads, Weight the
	// load of those.
	Held    int   `json:"held"`
	Planned int   `json:"planned"`
	Weight  int64 `json:"weight"`
	// Quota is how many the plan means it to have; -1 where no plan is known.
	Quota int `json:"quota"`

	states map[State]int
}

// Listing is one page of workloads.
type Listing struct {
	// Matching counts those that the search and the filters leave; Page of Pages counts from 1.
	Matching int    `json:"matching"`
	Page     int    `json:"page"`
	Pages    int    `json:"pages"`
	Rows     []Row  `json:"rows"`
	Next     string `json:"next,omitempty"` // relative link of the next page
}

// Row is one workload.
type Row struct {
	Key   string `json:"key"`
	Name  string `json:"name,omitempty"`
	State State  `json:"state"`
	// Owner holds it; empty where nobody does. OwnerName is what it is called.
	Owner     instance.ID `json:"owner,omitempty"`
	OwnerName string      `json:"ownerName,omitempty"`
	// Token of its present term, or of the last.
	Token uint64 `json:"token,omitempty"`
	// Since is when its state began: the grant, the begin of the winding down, or when the page saw it without an owner.
	Since time.Time `json:"since,omitzero"`
	// Weight as the catalogue has it; 0 means 1.
	Weight int  `json:"weight,omitempty"`
	Alone  bool `json:"alone,omitempty"`
	// Target is where the coordinator's plan puts it, where that is not its owner.
	Target instance.ID `json:"target,omitempty"`
	// Info is what its owner says.
	Info string `json:"info,omitempty"`
	// Moves counts the changes of its owner, Restarts the new terms of the same owner, since the page began to look.
	Moves    int `json:"moves"`
	Restarts int `json:"restarts"`
	// Last is the last change of its owner that the page has seen.
	Last *Handover `json:"lastHandover,omitempty"`

	winding time.Time // when its owner began to wind it down; zero where that is not known
}

// Handover is a change of a workload's owner.
type Handover struct {
	From instance.ID `json:"from,omitempty"`
	To   instance.ID `json:"to"`
	At   time.Time   `json:"at"` // of the grant, by the store's clock
	// Failover says that the old owner died; otherwise it let go.
	Failover bool `json:"failover,omitempty"`
	// TookMs is the time from the begin of the winding down to the grant, by the store's clock. Where AtMost is set
	// that went too fast to be seen, and TookMs is the time between the last look at the old owner and the
	// first at the new one.
	TookMs float64 `json:"tookMs"`
	AtMost bool    `json:"atMost,omitempty"`
}

// Detail is all that is known of one workload.
type Detail struct {
	Row
	// Found is false where the key is in no catalogue and nobody holds it.
	Found bool `json:"found"`
	// Why says why it is where it is, one sentence a line.
	Why []string `json:"why"`
	// Explanation is the assigner's, where the page can make it.
	Explanation *assigner.Explanation `json:"explanation,omitempty"`
	// Local is what this process's runner says, where the workload is here.
	Local *Local `json:"local,omitempty"`
	// Events are those of this workload, newest first.
	Events []Event `json:"events"`

	says string // Info, with the names of instances
}

// Local is a workload on this process.
type Local struct {
	Phase      string  `json:"phase"`
	State      string  `json:"state"`
	LeftMs     float64 `json:"leftMs"` // of its term, without another renewal
	Stuck      bool    `json:"stuck,omitempty"`
	Restarts   int     `json:"restarts"`
	Failures   int     `json:"failures"`
	LastError  string  `json:"lastError,omitempty"`
	WindDownMs float64 `json:"windDownMs,omitempty"` // of the last term that ended here
}

// Balance is the load, and what the last change of the membership cost.
type Balance struct {
	// Most and Fewest are how many planned workloads the active members have; Even is the mean.
	Most   int     `json:"most"`
	Fewest int     `json:"fewest"`
	Even   float64 `json:"even"`
	// Comparable is false where capacities differ or labels restrict: then even is not the aim.
	Comparable bool `json:"comparable"`
	// Missing is how many workloads would have to move to even out what is held now.
	Missing int `json:"missing"`
	// Change is the last change of the membership that the page has seen; nil where there was none.
	Change *Change `json:"change,omitempty"`
}

// Change is a change of the membership and what followed.
type Change struct {
	What string    `json:"what"`
	At   time.Time `json:"at"`
	// Moves is how often a planned workload got another owner since, Least how many must have for an even spread.
	Moves int `json:"moves"`
	Least int `json:"least"`
	// Settled says that everything is owned, and evenly, again.
	Settled bool `json:"settled"`
}

// Plan is what the coordinator of this process planned.
type Plan struct {
	Assigner    string                  `json:"assigner"`
	At          time.Time               `json:"at"`
	TookMs      float64                 `json:"tookMs"`
	Digest      string                  `json:"digest"`
	Moves       int                     `json:"moves"`
	Reasons     map[assigner.Reason]int `json:"reasons"`
	Unplaceable int                     `json:"unplaceable"`
	Frozen      string                  `json:"frozen,omitempty"`
	Deferred    int                     `json:"deferred,omitempty"`
	Error       string                  `json:"error,omitempty"`
}

// Event is one line of the timeline.
type Event struct {
	At   time.Time `json:"at"`
	Kind EventKind `json:"kind"`
	Text string    `json:"text"`
	// Instance and Key are set where the event is about one.
	Instance instance.ID `json:"instance,omitempty"`
	Key      string      `json:"key,omitempty"`
}

// EventKind says what an event is about. The kinds of package coordinator occur as well.
type EventKind = coordinator.EventKind

// The kinds of events that the page sees itself.
const (
	EventJoined   EventKind = "joined"   // an instance is new
	EventLeft     EventKind = "left"     // an instance has left in good order
	EventLost     EventKind = "lost"     // an instance has expired
	EventMoved    EventKind = "moved"    // workloads changed hands
	EventFailover EventKind = "failover" // workloads of a dead owner were taken
	EventRestart  EventKind = "restart"  // workloads began anew with the same owner
	EventUnowned  EventKind = "unowned"  // workloads have lost their owner
	EventSilent   EventKind = "silent"   // the store does not answer
	EventAnswers  EventKind = "answers"  // the store answers again
	EventAction   EventKind = "action"   // somebody acted on this page
)
