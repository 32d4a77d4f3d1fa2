package soak

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/tenure-go/tenure/verify/internal/servers"
)

var (
	length = flag.Duration("soak.for", 15*time.Second, "how long every store's fleet runs")
	seed   = flag.Uint64("soak.seed", 1, "seed of the chaos")
	stores = flag.String("soak.stores", "memory", "on which stores, with commas between: memory, redis, postgres")
)

// judged is how long a run must be for its figures to tell growth from noise.
const judged = 5 * time.Minute

// TestSoak prints a row for each store, and one for each of its figures. Failure of any row fails the test.
func TestSoak(t *testing.T) {
	if testing.Short() {
		t.Skip("runs fleets of processes on real servers")
	}
	program := build(t)
	var report strings.Builder
	var mu sync.Mutex
	out := tabwriter.NewWriter(&report, 0, 0, 2, ' ', 0)
	t.Run("store", func(t *testing.T) {
		for name := range strings.SplitSeq(*stores, ",") {
			open := backends[name]
			if open == nil {
				t.Fatalf("-soak.stores: %q is not one of memory, redis, postgres", name)
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				url, size := open(t)
				f := start(t, program, url)
				took := f.soak(size)
				mu.Lock()
				defer mu.Unlock()
				f.report(out, name, took)
			})
		}
	})
	out.Flush()
	t.Logf("%v under chaos, seed %d:\n%s", *length, *seed, &report)
}

// backends start a store and return its URL and what reads its size.
var backends = map[string]func(t *testing.T) (url string, size func() figures){
	"memory": embedded, "redis": redisServer, "postgres": postgresServer,
}

// build compiles the sample as its users do.
func build(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "sample")
	cmd := exec.CommandContext(t.Context(), "go", "build", "-o", program, ".")
	cmd.Dir = filepath.Join("..", "..", "sample")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the sample: %v\n%s", err, out)
	}
	return program
}

// embedded: the store lives in the sample's parent process, whose memory is looked at anyway.
func embedded(*testing.T) (string, func() figures) { return "", func() figures { return nil } }

func redisServer(t *testing.T) (string, func() figures) {
	address := servers.Redis(t)
	return "redis://" + address + "/0", redisSize(t, address)
}

func postgresServer(t *testing.T) (string, func() figures) {
	dsn := servers.Postgres(t)
	return dsn, postgresSize(t, dsn)
}

// soak watches the fleet until it ends by itself.
func (f *fleet) soak(size func() figures) time.Duration {
	f.t.Helper()
	begin := time.Now()
	every := max(*length/360, time.Second)
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.history.add(time.Since(begin), f.pods(), f.parent(), size())
		case <-f.ended:
			return time.Since(begin)
		case <-time.After(*length + 2*time.Minute):
			f.t.Fatal("the sample has not ended")
		}
	}
}

// report writes the fleet's rows and judges them.
func (f *fleet) report(out *tabwriter.Writer, store string, took time.Duration) {
	s := f.verdict()
	fmt.Fprintf(out, "%s\t%v\t%d pods\t%d writes\t%d handovers\t%d failovers, worst %.1f s\t%d stale refused\t%d double owners\t%d unowned\n",
		store, took.Round(time.Second), s.Pods, s.Writes, s.Handovers, s.Failovers, s.FailoverMaxMs/1000, s.StaleRefused, s.SplitBrain, s.Unowned)
	if f.status != 0 || s.SplitBrain > 0 || s.Unowned > 0 {
		f.t.Errorf("%s: exit status %d, %+v\n%s", store, f.status, s, f.errs.String())
	}
	first, last := f.history.ends(took)
	for _, name := range f.history.names() {
		fmt.Fprintf(out, "\t%s\tfirst %.1f\tlast %.1f\n", name, first[name], last[name])
		if took >= judged && last[name] > first[name]*noise+allowance[name] {
			f.t.Errorf("%s: %s has grown from %.1f to %.1f", store, name, first[name], last[name])
		}
	}
	if f.history.len() == 0 {
		f.t.Errorf("%s: nothing was measured", store)
	}
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(m.Run())
}
