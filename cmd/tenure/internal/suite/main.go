package suite

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/tenure-go/tenure/cmd/tenure/internal/stores"
	"github.com/tenure-go/tenure/storetest"
)

// Argument is the hidden command under which this program runs the suite.
const Argument = "suite"

// Spec says what to test.
type Spec struct {
	Store stores.Config
	// Place is the name of the scratch place, which exists.
	Place string
	// Unit is the suite's grain of time, and MaxTTL that of the scratch fleets.
	Unit, MaxTTL time.Duration
	// Run selects checks by a regular expression; empty means all.
	Run string
	// Short leaves out the checks that wait for long.
	Short bool
	Seed  uint64
	Lanes int
	// Timeout ends the run.
	Timeout time.Duration
}

const top = "Conformance"

// Main is the main function of the process that runs the suite. It does not return.
func Main() {
	var spec Spec
	if err := json.NewDecoder(os.Stdin).Decode(&spec); err != nil {
		fmt.Fprintln(os.Stderr, `tenure: suite is a part of "tenure verify" and started by it; use that command`)
		os.Exit(2)
	}
	testing.Init()
	args := []string{
		"-test.v=test2json", "-test.timeout=" + spec.Timeout.String(), "-test.run=^" + top + "$/(?:" + spec.Run + ")", fmt.Sprintf("-test.short=%t", spec.Short),
	}
	if err := flag.CommandLine.Parse(args); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	match := func(pattern, name string) (bool, error) { return regexp.MatchString(pattern, name) }
	testing.Main(match, []testing.InternalTest{{Name: top, F: spec.test}}, nil, nil)
}

// place opens scratch fleets and remembers whose each handle is.
type place struct {
	stores.Scratch
	serial atomic.Int64
	mu     sync.Mutex
	fleets map[storetest.Store]string
}

func (spec Spec) test(t *testing.T) {
	handle, err := stores.Open(spec.Store)
	if err != nil {
		t.Fatal(err)
	}
	defer handle.Close()
	p := &place{Scratch: handle.Scratch(spec.Place, spec.MaxTTL), fleets: map[storetest.Store]string{}}
	cfg := storetest.Config{Open: p.open, Unit: spec.Unit, MaxTTL: spec.MaxTTL, Seed: spec.Seed, Lanes: spec.Lanes}
	if wipe := p.Wipe(); wipe != nil {
		cfg.Faults.Wipe = func(t *testing.T, s storetest.Store) {
			if err := wipe(context.Background(), p.fleet(s)); err != nil {
				t.Fatalf("wipe: %v", err)
			}
		}
	}
	storetest.Run(t, cfg)
}

func (p *place) open(t *testing.T) (a, b storetest.Store) {
	fleet := fmt.Sprintf("f%d", p.serial.Add(1))
	one := func() storetest.Store {
		s, err := p.Open(fleet)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = s.Close() }) // what matters was said by the check
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fleets[s] = fleet
		return s
	}
	return one(), one()
}

func (p *place) fleet(s storetest.Store) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.fleets[s]
}
