package sim

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"
)

// span is a duration that reads well in JSON.
type span time.Duration

// MarshalText implements encoding.TextMarshaler.
func (s span) MarshalText() ([]byte, error) { return []byte(time.Duration(s).String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (s *span) UnmarshalText(b []byte) error {
	d, err := time.ParseDuration(string(b))
	*s = span(d)
	return err
}

// deed is what a step does.
type deed string

const (
	cut       deed = "cut"       // nothing arrives; callers hear nothing until their context ends
	refuse    deed = "refuse"    // nothing arrives; callers hear so at once
	hang      deed = "hang"      // nothing arrives; callers hang, whatever their context says
	halfDone  deed = "half done" // calls are done, callers get an error
	slow      deed = "slow"      // answers come late
	lie       deed = "lie"       // heartbeats are answered with a view that does not list the reader
	pause     deed = "pause"     // the instance stands still; its clock goes on
	suspend   deed = "suspend"   // its machine sleeps
	crash     deed = "crash"     // kill -9; another follows in its slot
	stop      deed = "stop"      // a graceful stop; another follows in its slot, with the version N
	mark      deed = "drain"     // BeginDrain
	stepDown  deed = "step down" // of the leader on the instance
	revoke    deed = "revoke"    // the lease of key N
	catalogue deed = "catalogue" // becomes the keys of the bits of N
	wipe      deed = "wipe"      // the store loses everything
	restore   deed = "restore"   // the store goes back to the Nth latest snapshot
	trap      deed = "trap"      // the next grant is lost by the store, with its answer
	untrap    deed = "untrap"    // the store goes back to right after that grant
)

// step is one deed. It is undone after For, where that makes sense.
type step struct {
	At   span   `json:"at"`
	Do   deed   `json:"do"`
	Slot int    `json:"slot,omitempty"`
	On   string `json:"on,omitempty"` // a contract; empty: all
	N    int    `json:"n,omitempty"`
	For  span   `json:"for,omitempty"`
}

// String is for people.
func (s step) String() string {
	text := fmt.Sprintf("%-8v %s", time.Duration(s.At), s.Do)
	switch s.Do {
	case revoke, catalogue, wipe, restore, trap, untrap:
	default:
		text += " " + slotName(s.Slot)
	}
	if s.On != "" {
		text += " from " + s.On
	}
	if s.N != 0 {
		text += fmt.Sprintf(" (%d)", s.N)
	}
	if s.For > 0 {
		text += fmt.Sprintf(" for %v", time.Duration(s.For))
	}
	return text
}

func slotName(n int) string { return string(rune('a' + n)) }

// schedule is all that a run is made of.
type schedule struct {
	Seed uint64 `json:"seed"`
	// Slots is the number of instances, Keys that of workloads in the first catalogue.
	Slots int `json:"slots"`
	Keys  int `json:"keys"`
	// Rates are the clock rates of the slots, less one, in units of Margin/LeaseTTL.
	Rates []float64 `json:"rates,omitempty"`
	// Guarded: the store notices that it lost data. Listed: it lists its leases and
	// carries plans, so that the fleet has a planner. Sleepers: machines can see that
	// they slept. Quiet: the checker does not look at terms between events, since a look is not without effect.
	Guarded  bool `json:"guarded,omitempty"`
	Listed   bool `json:"listed,omitempty"`
	Sleepers bool `json:"sleepers,omitempty"`
	Quiet    bool `json:"quiet,omitempty"`
	// Trips: the store carries in one trip what an instance has to say per interval.
	Trips bool `json:"trips,omitempty"`
	// Loss, Half and Twice are the probabilities per call that it or its answer is lost, that it is done and an error
	// is answered, and that it arrives again later.
	Loss  float64 `json:"loss,omitempty"`
	Half  float64 `json:"half,omitempty"`
	Twice float64 `json:"twice,omitempty"`
	// Far: delays are like those between continents on a bad day, and calls may take longer.
	Far bool `json:"far,omitempty"`
	// Sick is the probability that a term's work fails by itself; Deaf that it ignores its cancellation.
	Sick float64 `json:"sick,omitempty"`
	Deaf float64 `json:"deaf,omitempty"`

	Length span   `json:"length"`
	Steps  []step `json:"steps"`
}

// write and parse are for replays.
func write(s schedule) string {
	js, err := json.Marshal(s)
	if err != nil {
		return err.Error() // of plain values: it cannot be
	}
	return string(js)
}

func parse(text string) (s schedule, err error) {
	d := json.NewDecoder(strings.NewReader(text))
	d.DisallowUnknownFields()
	err = d.Decode(&s)
	return s, err
}

// String is for people.
func (s schedule) String() string {
	var b strings.Builder
	short := s
	short.Steps = nil
	fmt.Fprintf(&b, "%s\n", write(short))
	for _, st := range s.Steps {
		fmt.Fprintf(&b, "  %v\n", st)
	}
	return b.String()
}
