package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	redisstore "github.com/tenure-go/tenure/adapters/redis"
	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/runner"
)

// embedded is an application in this process: an instance of the fleet with a few workloads.
type embedded struct {
	*coordinator.Coordinator[string]
	release chan struct{} // closed: workers end when they are drained
	done    chan struct{}
}

// embed starts an instance whose workers ignore a drain until they are released.
func embed(t *testing.T, s *server, fleet string, keys ...string) *embedded {
	t.Helper()
	store, err := redisstore.New(s.client(), redisstore.Config{Fleet: fleet})
	if err != nil {
		t.Fatal(err)
	}
	e := &embedded{release: make(chan struct{}), done: make(chan struct{})}
	work := func(ctx context.Context, term *runner.Term, _ string) error {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-term.Draining():
		}
		select {
		case <-ctx.Done():
		case <-e.release:
		}
		return nil
	}
	var workloads []coordinator.Workload[string]
	for _, k := range keys {
		workloads = append(workloads, coordinator.Workload[string]{Key: k, Value: k})
	}
	e.Coordinator, err = coordinator.New(store, workloads, work, coordinator.Config{
		Instance: instance.Instance{ID: instance.New(), Zone: "z1", Version: "v7", Address: "10.0.0.7:80"},
		// Long enough that a busy machine loses no lease, and often enough that a mark is soon heard of.
		Timing: lease.Timing{LeaseTTL: 15 * time.Second, HeartbeatInterval: 500 * time.Millisecond, RenewInterval: time.Second},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		defer close(e.done)
		_ = e.Run(ctx) // the test looks at what it does
	}()
	t.Cleanup(func() {
		stop()
		e.letGo()
		<-e.done
		store.Close()
	})
	eventually(t, "all workloads run", func() bool { return len(e.Running()) == len(keys) })
	return e
}

func (e *embedded) letGo() {
	select {
	case <-e.release:
	default:
		close(e.release)
	}
}

// object reads one JSON object.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return v
}

func TestStatusAndWho(t *testing.T) {
	t.Parallel()
	redis := privateRedis(t)
	flags := fleetIn(t, redis, "shop")
	e := embed(t, redis, "shop", "feed/a", "feed/b")
	id := string(e.Instance().ID)

	out := must(t, append([]string{"status"}, flags...)...)
	for _, want := range []string{"fleet shop at redis://127.0.0.1", "1 instance", "z1", "v7", "10.0.0.7:80", "feed/a", "feed/b", "active", id[:strings.LastIndexByte(id, ':')+9]} {
		if !strings.Contains(out, want) {
			t.Errorf("status does not show %q:\n%s", want, out)
		}
	}
	if out := must(t, append([]string{"status", "--search", "feed/b"}, flags...)...); strings.Contains(out, "feed/a") || !strings.Contains(out, "feed/b") {
		t.Errorf("--search feed/b:\n%s", out)
	}
	v := object(t, must(t, append([]string{"status", "--json"}, flags...)...))
	members, workloads := v["instances"].([]any), v["workloads"].([]any)
	first := members[0].(map[string]any)
	if len(members) != 1 || first["id"] != id || first["state"] != "active" || first["workloads"].(float64) < 2 || first["ttlLeftSeconds"].(float64) <= 0 {
		t.Errorf("instances: %v", members)
	}
	found := 0
	for _, w := range workloads {
		w := w.(map[string]any)
		if strings.HasPrefix(w["key"].(string), "feed/") && w["owner"] == id && w["held"] == true && w["token"].(float64) > 0 && w["ttlLeftSeconds"].(float64) > 0 {
			found++
		}
	}
	if found != 2 {
		t.Errorf("workloads: %v", workloads)
	}

	if out := must(t, append([]string{"who", "feed/a"}, flags...)...); !strings.Contains(out, id+" at 10.0.0.7:80 holds") {
		t.Errorf("who: %s", out)
	}
	if w := object(t, must(t, append([]string{"who", "feed/a", "--json"}, flags...)...)); w["owner"] != id || w["address"] != "10.0.0.7:80" {
		t.Errorf("who: %v", w)
	}
	if status, out, said := command(append([]string{"who", "feed/z"}, flags...)...); status != 1 || out != "" || !strings.Contains(said, "nobody holds") {
		t.Errorf("who of a free key: %d %q %q", status, out, said)
	}
	// What the shell's completion asks.
	if out := must(t, append(append([]string{"__complete", "who"}, flags...), "")...); !strings.Contains(out, "feed/a\nfeed/b\n") {
		t.Errorf("completion of keys: %q", out)
	}
}

func TestStatusFollows(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "f")
	p := start(t, "", nil, append([]string{"status", "--watch", "--json", "--interval", "100ms"}, flags...)...)
	p.printed(`"workloads":[]`)
	job := running(t, "", flags, "--", "sleep", "1000")
	p.printed(`"key":"job"`)
	job.signal(9)
	p.signal(15)
	if status := p.wait(); status != 130 {
		t.Errorf("status %d: %s", status, p.err.String())
	}
}

func TestDrainThroughTheStore(t *testing.T) {
	t.Parallel()
	redis := privateRedis(t)
	flags := fleetIn(t, redis, "f")
	e := embed(t, redis, "f", "a", "b")
	id := string(e.Instance().ID)

	status, _, said := command(append([]string{"drain", "--instance", "nobody"}, flags...)...)
	if status != 2 || !strings.Contains(said, "tenure status") || strings.Count(said, "\n") != 1 {
		t.Errorf("an unknown instance: %d %q", status, said)
	}
	status, out, said := command(append([]string{"drain", "--instance", id[:len(id)-8], "--timeout", "2s"}, flags...)...)
	if status != 4 || out != "" || !strings.Contains(said, `still running: "a", "b"`) {
		t.Errorf("a drain that takes too long: %d %q %q", status, out, said)
	}
	status, out, _ = command(append([]string{"drain", "--instance", id, "--timeout", "1s", "--json"}, flags...)...)
	if v := object(t, out); status != 4 || v["state"] != "draining" || len(v["running"].([]any)) < 2 {
		t.Errorf("the same as JSON: %d %q", status, out)
	}
	// What "tenure run" holds is no member's.
	p := running(t, "", flags, "--", "sh", "-c", "echo $TENURE_INSTANCE; exec sleep 1000")
	eventually(t, "the command runs", func() bool { return strings.HasSuffix(p.out.String(), "\n") })
	runner := strings.TrimSpace(p.out.String())
	eventually(t, "its state is published", func() bool {
		status, _, said = command(append([]string{"drain", "--instance", runner[:len(runner)-8]}, flags...)...)
		return strings.Contains(said, `a "tenure run" holds "job"`)
	})
	if status != 2 || strings.Count(said, "\n") != 1 || !strings.Contains(said, fmt.Sprintf("SIGTERM to process %d on ", p.cmd.Process.Pid)) {
		t.Errorf("an instance of tenure run: %d %q", status, said)
	}
	e.letGo()
	v := object(t, must(t, append([]string{"drain", "--instance", id, "--json"}, flags...)...))
	if v["state"] != "drained" || len(v["running"].([]any)) != 0 {
		t.Errorf("a drain that was joined: %v", v)
	}
}

func TestDrainThroughTheHandler(t *testing.T) {
	t.Parallel()
	redis := privateRedis(t)
	fleetIn(t, redis, "f")
	e := embed(t, redis, "f", "a")
	d, err := drain.New(drain.Config{Timeout: time.Second}, e)
	if err != nil {
		t.Fatal(err)
	}
	h, err := d.Handler(drain.HandlerConfig{Token: "sesame"})
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	file := func(name, text string) string {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	right, wrong := file("right", "sesame\n"), file("wrong", "open")

	for what, args := range map[string][]string{"401": {"drain", "--url", s.URL}, "403": {"drain", "--url", s.URL, "--token-file", wrong}} {
		if status, out, said := command(args...); status != 1 || out != "" || !strings.Contains(said, what) || !strings.Contains(said, "--token-file") {
			t.Errorf("%v: %d %q %q", args, status, out, said)
		}
	}
	status, _, said := command("drain", "--url", s.URL, "--token-file", right)
	if status != 4 || !strings.Contains(said, `still running: "a"`) {
		t.Errorf("the handler's timeout: %d %q", status, said)
	}
	if status, _, said := command("drain", "--url", s.URL, "--token-file", right, "--timeout", "100ms"); status != 4 || !strings.Contains(said, `still running: "a"`) {
		t.Errorf("an own timeout: %d %q", status, said)
	}
	e.letGo()
	eventually(t, "the drain that goes on is over", func() bool {
		status, out, _ := command("drain", "--url", s.URL, "--token-file", right)
		return status == 0 && strings.Contains(out, "drained") && strings.Contains(out, "1 workload let go")
	})
	if v := object(t, must(t, "drain", "--url", s.URL, "--token-file", right, "--json")); v["state"] != "drained" {
		t.Errorf("as JSON: %v", v)
	}
	if status, _, said := command("drain", "--url", "http://"+freeAddress(t)+"/drain"); status != 3 || !strings.Contains(said, "cannot be reached") {
		t.Errorf("nobody there: %d %q", status, said)
	}
	other := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(other.Close)
	if status, _, said := command("drain", "--url", other.URL); status != 1 || !strings.Contains(said, "404") {
		t.Errorf("no drain handler: %d %q", status, said)
	}
}

func TestRevoke(t *testing.T) {
	t.Parallel()
	redis := privateRedis(t)
	flags := fleetIn(t, redis, "f")
	if status, _, said := command(append([]string{"revoke", "job", "--yes"}, flags...)...); status != 1 || !strings.Contains(said, "nothing to revoke") {
		t.Errorf("a free key: %d %q", status, said)
	}
	p := running(t, "", flags, "--", "sh", "-c", "echo $TENURE_TOKEN; exec sleep 1000")
	eventually(t, "the command runs", func() bool { return p.out.String() != "" })
	v := object(t, must(t, append([]string{"revoke", "job", "--yes", "--json"}, flags...)...))
	if v["done"] != true || v["key"] != "job" {
		t.Errorf("answer %v", v)
	}
	p.said("revoked")
	p.said("waiting: the lease of \"job\" is asked for again")
	eventually(t, "a second term", func() bool { return strings.Count(p.out.String(), "\n") == 2 })
}

func TestHealthcheck(t *testing.T) {
	t.Parallel()
	healthy := true
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if !healthy {
			http.Error(w, "the loop is stuck", http.StatusServiceUnavailable)
		}
	}))
	t.Cleanup(s.Close)
	if out := must(t, "healthcheck", s.URL); out != "healthy: 200\n" {
		t.Errorf("%q", out)
	}
	healthy = false
	if status, _, said := command("healthcheck", s.URL); status != 1 || !strings.Contains(said, "503: the loop is stuck; see what the process logs") {
		t.Errorf("%d %q", status, said)
	}
	for code, remedy := range map[int]string{301: "redirects", 401: "no login", 404: "check the path", 418: "check the address", 500: "logs"} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }))
		t.Cleanup(other.Close)
		if status, _, said := command("healthcheck", other.URL); status != 1 || !strings.Contains(said, fmt.Sprint(code)) || !strings.Contains(said, remedy) {
			t.Errorf("%d: %d %q", code, status, said)
		}
	}
	stuck := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	t.Cleanup(stuck.Close)
	secret := strings.Replace(stuck.URL, "http://", "http://u:secret@", 1)
	if status, _, said := command("healthcheck", secret, "--timeout", "50ms"); status != 1 || !strings.Contains(said, "within 50ms; raise --timeout") || strings.Contains(said, "secret") {
		t.Errorf("%d %q", status, said)
	}
	status, out, _ := command("healthcheck", "--json", s.URL)
	if v := object(t, out); status != 1 || v["healthy"] != false {
		t.Errorf("%d %v", status, v)
	}
	if status, _, said := command("healthcheck", "http://"+freeAddress(t)); status != 1 || !strings.Contains(said, "refused; check the address") || strings.Count(said, "127.0.0.1") > 2 {
		t.Errorf("%d %q", status, said)
	}
}

func TestCommandsWithoutAStore(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"redis", "redis+cluster", "postgres"} {
		url := scheme + "://" + freeAddress(t)
		if scheme == "postgres" {
			url += "/db" // with TLS and without: it is tried twice
		}
		for _, args := range [][]string{{"status"}, {"who", "k"}, {"provision"}, {"check"}, {"drain", "--instance", "i"}, {"revoke", "k", "--yes"}, {"verify"}} {
			status, out, said := command(append(args, "--store", url)...)
			if status != 3 || out != "" || strings.Count(said, "\n") != 1 || strings.Count(said, "connection refused") != 1 {
				t.Errorf("tenure %v at a %s that is not there: status %d, %q, %q", args, scheme, status, out, said)
			}
		}
	}
}

// A key may have any character but NUL. Those that would not show, or would move the terminal's cursor, are shown quoted.
func TestKeysThatDoNotShow(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "f")
	const key, shown = "a\tb\n\x1b[31m  c", `"a\tb\n\x1b[31m  c"`
	p := start(t, "", nil, append(append([]string{"run", "--key", key}, flags...), "--", "sh", "-c", "echo on; exec sleep 1000")...)
	p.printed("on")
	said := p.err.String()
	for _, args := range [][]string{{"status"}, {"who", key}} {
		said += must(t, append(args, flags...)...)
	}
	status, _, err := command(append([]string{"who", key + "?"}, flags...)...)
	said += err
	if status != 1 || strings.Count(said, shown) != 3 || !strings.Contains(said, shown[:len(shown)-1]+`?"`) || strings.ContainsAny(said, "\t\x1b") {
		t.Errorf("expected %s in %q", shown, said)
	}
	if out := must(t, append(append([]string{"__complete", "who"}, flags...), "")...); strings.Contains(out, "31m") {
		t.Errorf("the completion of keys: %q", out)
	}
}
