package soak

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/tenure-go/tenure/dashboard"
)

// fleet is one run of the sample.
type fleet struct {
	t         *testing.T
	cmd       *exec.Cmd
	out, errs output
	ended     chan struct{}
	status    int // once ended is closed
	history   history
}

// output is what a process wrote. It is safe for concurrent use.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer
}

// Write implements io.Writer. Of a long run the end is kept.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.b.Len() > megabyte {
		kept := bytes.Clone(o.b.Bytes()[o.b.Len()-megabyte/2:])
		o.b.Reset()
		o.b.Write(kept)
	}
	return o.b.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.b.String()
}

// start starts the sample. Its pods end with it, and it ends with this process.
func start(t *testing.T, program, store string) *fleet {
	t.Helper()
	args := []string{"-for", length.String(), "-seed", strconv.FormatUint(*seed, 10), "-chaos", "-fail-fast", "-json"}
	if store != "" {
		args = append(args, "-store", store)
	}
	f := &fleet{t: t, cmd: exec.Command(program, args...), ended: make(chan struct{})}
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.errs
	f.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(f.ended)
		_ = f.cmd.Wait() // the status tells
		f.status = f.cmd.ProcessState.ExitCode()
	}()
	t.Cleanup(func() {
		_ = f.cmd.Process.Kill() // os.ErrProcessDone, as a rule
		<-f.ended
	})
	return f
}

var pageOf = regexp.MustCompile(`(?m)^the fleet's page: (\S+)$`)

// pods asks every pod that the fleet's page knows for its metrics. Paused ones do not answer, and dead ones cannot.
func (f *fleet) pods() figures {
	at := pageOf.FindStringSubmatch(f.errs.String())
	if at == nil {
		return nil
	}
	var view dashboard.View
	if err := get(at[1], "application/json", func(r *http.Response) error { return json.NewDecoder(r.Body).Decode(&view) }); err != nil {
		return nil // it is not up yet, or the run is over
	}
	sum, n := figures{}, 0.0
	for _, m := range view.Members {
		parser := expfmt.NewTextParser(model.LegacyValidation)
		var read map[string]*dto.MetricFamily
		err := get("http://"+m.Address+"/metrics", "text/plain", func(r *http.Response) (err error) {
			read, err = parser.TextToMetricFamilies(r.Body)
			return err
		})
		if err != nil {
			continue
		}
		n++
		sum[podMemory] += gauge(read, "process_resident_memory_bytes") / megabyte
		sum[podHeap] += gauge(read, "go_memstats_heap_inuse_bytes") / megabyte
		sum[podGoroutines] += gauge(read, "go_goroutines")
		sum[podFiles] += gauge(read, "process_open_fds")
	}
	for name := range sum {
		sum[name] /= n
	}
	return sum
}

func gauge(read map[string]*dto.MetricFamily, name string) float64 {
	for _, m := range read[name].GetMetric() {
		return m.GetGauge().GetValue()
	}
	return 0
}

// get reads an answer, and gives up after a second.
func get(url, accept string, read func(*http.Response) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", accept)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, answer.Status)
	}
	return read(answer)
}

// parent looks at the sample's own process: the witness, the page and, unless a server is used, the store.
func (f *fleet) parent() figures {
	proc := fmt.Sprintf("/proc/%d/", f.cmd.Process.Pid)
	statm, err := os.ReadFile(proc + "statm")
	files, filesErr := os.ReadDir(proc + "fd")
	if err != nil || filesErr != nil {
		return nil // it has just ended
	}
	pages, err := strconv.Atoi(strings.Fields(string(statm))[1])
	if err != nil {
		f.t.Errorf("%sstatm: %v", proc, err)
	}
	return figures{parentMemory: float64(pages*os.Getpagesize()) / megabyte, parentFiles: float64(len(files))}
}

// summary is the last line of the sample's output, as far as it matters here.
type summary struct {
	Pods, Writes, StaleRefused, SplitBrain, Unowned, Handovers, Failovers int
	FailoverMaxMs                                                         float64
}

func (f *fleet) verdict() (s summary) {
	lines := strings.Split(strings.TrimSpace(f.out.String()), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &s); err != nil || s.Writes == 0 {
		f.t.Errorf("no summary (%v): %s\n%s", err, lines[len(lines)-1], f.errs.String())
	}
	return s
}
