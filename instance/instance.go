package instance

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"

	"github.com/tenure-go/tenure/internal/fault"
)

// ID identifies one start of one process. It is opaque and compared byte for byte.
// A valid ID is 1 to 512 bytes of UTF-8 without NUL.
type ID string

// Check returns an error that matches lease.ErrInvalid where the ID cannot be used.
func (id ID) Check() error { return fault.CheckName("instance ID", string(id)) }

// New returns a fresh identity in the shape machine:pid:random, with 128 random bits.
// It never fails: where the host name is unknown, the machine reads "unknown".
func New() ID {
	host, err := os.Hostname()
	if err != nil || host == "" {
		host = "unknown"
	}
	host = strings.ToValidUTF8(strings.ReplaceAll(host, "\x00", ""), "?")
	if len(host) > 255 {
		host = strings.ToValidUTF8(host[:255], "")
	}
	var b [16]byte
	rand.Read(b[:]) // never fails: crypto/rand ends the process instead
	return ID(fmt.Sprintf("%s:%d:%s", host, os.Getpid(), hex.EncodeToString(b[:])))
}

// The identity of a process is global by nature: it is made once, on first use, and never changes.
var process = sync.OnceValue(New)

// Process returns the identity of this process. It is the same for the process's whole life
// and safe for concurrent use.
func Process() ID { return process() }

// Instance describes one running process to its fleet. Only ID is required.
type Instance struct {
	// ID is unique per start.
	ID ID `json:"id"`
	// Zone is the failure domain, such as an availability zone. Empty means none is known.
	Zone string `json:"zone,omitempty"`
	// Version is the rollout cohort: instances of one deployment share it. Empty is a cohort of its own.
	Version string `json:"version,omitempty"`
	// Address is where others can reach this instance, to route requests to the owner of a workload.
	Address string `json:"address,omitempty"`
	// Capacity is how much this instance carries relative to others, in any unit. Zero means 1.
	Capacity int `json:"capacity,omitempty"`
	// Labels restrict where a workload may run and are shown to people.
	Labels map[string]string `json:"labels,omitempty"`
}

// Limits of an instance's description, so that a membership list stays small.
const (
	MaxField       = 512  // bytes of Zone, Version and Address each
	MaxLabelsBytes = 4096 // bytes of all label keys and values together
	MaxCapacity    = 1_000_000
)

// Check returns an error that names the first field that cannot be used; it matches lease.ErrInvalid.
func (i Instance) Check() error {
	if err := i.ID.Check(); err != nil {
		return err
	}
	for _, f := range []struct{ name, value string }{{"zone", i.Zone}, {"version", i.Version}, {"address", i.Address}} {
		if f.value == "" {
			continue
		}
		if err := fault.CheckName("instance "+f.name, f.value); err != nil {
			return err
		}
	}
	if i.Capacity < 0 || i.Capacity > MaxCapacity {
		return fault.Invalid("instance capacity", i.Capacity, fmt.Sprintf("must be between 0 (meaning 1) and %d", MaxCapacity))
	}
	size := 0
	for k, v := range i.Labels {
		if err := fault.CheckName("instance label key", k); err != nil {
			return err
		}
		if v != "" {
			if err := fault.CheckName("instance label "+k, v); err != nil {
				return err
			}
		}
		size += len(k) + len(v)
	}
	if size > MaxLabelsBytes {
		return fault.Invalid("instance labels", fmt.Sprintf("of %d bytes", size), fmt.Sprintf("must be at most %d bytes together", MaxLabelsBytes))
	}
	return nil
}

// Clone returns a copy that shares no memory with i.
func (i Instance) Clone() Instance {
	i.Labels = maps.Clone(i.Labels)
	return i
}

// Equal reports whether both describe the same instance in the same way.
func (i Instance) Equal(o Instance) bool {
	return i.ID == o.ID && i.Zone == o.Zone && i.Version == o.Version && i.Address == o.Address &&
		i.Capacity == o.Capacity && maps.Equal(i.Labels, o.Labels)
}
