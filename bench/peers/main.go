// Command peers runs the peers of the benchmark whose dependencies are large: etcd's election on an embedded server,
// and client-go's leader election on a lock in memory. It reads requests as lines of JSON, does one at a time,
// and answers each with a line. It ends with its input.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// request is what the benchmark asks for.
type request struct {
	Op  string        `json:"op"`
	N   int           `json:"n"`   // how often
	TTL time.Duration `json:"ttl"` // of a lease, for failovers
}

// answer is milliseconds, or an error.
type answer struct {
	Took  []float64 `json:"took"`
	Error string    `json:"error"`
}

func main() {
	virtual := flag.String("virtual", "", "used by the program itself: do this one `request` in virtual time, and end")
	flag.Parse()
	if *virtual != "" {
		inVirtualTime(*virtual)
	}
	if err := serve(); err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(1)
	}
}

func serve() error {
	var e election
	defer e.stop()
	out := json.NewEncoder(os.Stdout)
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		var r request
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil {
			return err
		}
		took, err := do(&e, r, lines.Text())
		a := answer{Took: took}
		if err != nil {
			a.Error = err.Error()
		}
		if err := out.Encode(a); err != nil {
			return err
		}
	}
	return lines.Err()
}

func do(e *election, r request, line string) ([]float64, error) {
	switch r.Op {
	case "etcd-handover":
		return e.handovers(r.N)
	case "client-go-handover", "client-go-failover":
		return again(line)
	}
	return nil, fmt.Errorf("unknown operation %q", r.Op)
}

// again does a request in a process of its own, since a bubble of virtual time ends with one.
func again(line string) ([]float64, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(self, "-virtual", line)
	var log bytes.Buffer // which client-go fills with every step of an election
	cmd.Stderr = &log
	text, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("in virtual time: %w\n%s\n%s", err, text, log.Bytes())
	}
	first, _, _ := bufio.ScanLines(text, true)
	var a answer
	if err := json.Unmarshal(text[:first], &a); err != nil {
		return nil, err
	}
	if a.Error != "" {
		return nil, errors.New(a.Error)
	}
	return a.Took, nil
}

func ms(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
