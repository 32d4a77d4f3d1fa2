package guard

import (
	"encoding/json"
	"io"
	"time"
)

// Instant is a moment of the machine's clock, in nanoseconds since some start that all processes share. Zero is none.
type Instant int64

// Add returns the instant d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from o to i.
func (i Instant) Sub(o Instant) time.Duration { return time.Duration(i - o) }

// order is what the holder tells the guardian: one line of JSON each, one field each.
type order struct {
	Start    *start  `json:"start,omitempty"`
	Deadline Instant `json:"deadline,omitempty"`
	Signal   int     `json:"signal,omitempty"`
	Stop     *stopBy `json:"stop,omitempty"`
	Kill     bool    `json:"kill,omitempty"`
}

// start is the first order.
type start struct {
	Path     string        `json:"path"`
	Argv     []string      `json:"argv"`
	Env      []string      `json:"env"`
	Stop     int           `json:"stop"`
	Grace    time.Duration `json:"grace"`
	Deadline Instant       `json:"deadline"`
	// Terminal is the process group that has the terminal on standard input, or 0.
	Terminal int `json:"terminal,omitempty"`
}

// stopBy asks the command to stop, and kills it when the time is up.
type stopBy struct {
	Signal int     `json:"signal"`
	By     Instant `json:"by"`
}

// report is what the guardian tells the holder.
type report struct {
	Started int    `json:"started,omitempty"` // the command's process id
	Cgroup  string `json:"cgroup,omitempty"`
	Asked   Cause  `json:"asked,omitempty"`
	Killed  bool   `json:"killed,omitempty"`
	Ended   *int   `json:"ended,omitempty"` // exit status as a shell tells it
	Failed  string `json:"failed,omitempty"`
	// Refused is the system's own number for why it did not start the command; Failed says it in words.
	Refused int `json:"refused,omitempty"`
	// Late: the deadline had passed before the command was started.
	Late bool `json:"late,omitempty"`
}

// Cause says why a command was asked to stop.
type Cause string

// The causes.
const (
	// CauseOrder: the holder asked.
	CauseOrder Cause = "order"
	// CauseDeadline: the deadline was near and no later one had come.
	CauseDeadline Cause = "deadline"
	// CauseOrphan: the holder's end of the pipe was closed.
	CauseOrphan Cause = "orphan"
	// CauseEnd: the command has ended and left descendants behind.
	CauseEnd Cause = "end"
)

// send writes one message.
func send(w io.Writer, v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(line, '\n'))
	return err
}
