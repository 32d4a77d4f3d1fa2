package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/dashboard"
)

// lookAt asks a page for its JSON.
func lookAt(t *testing.T, at string) (v dashboard.View) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if err := json.NewDecoder(answer.Body).Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// The parent's page shows pods that it knows only from the store, and a click on it drains one, to its end.
func TestPageOfTheFleet(t *testing.T) {
	r := newTestRun(t, "-workloads", "12", "-lease-ttl", testTTL)
	var err error
	if r.page, err = openPage(r.options, r.host.cfg); err != nil {
		t.Fatal(err)
	}
	r.addPods(t, 3)
	r.evenWithin(t, 3*time.Second+slack())
	r.within(t, time.Second+slack(), "shown", func() bool { return lookAt(t, r.page.URL).Verdict.Level == dashboard.Good })

	v := lookAt(t, r.page.URL)
	if v.Counts.Owned != 13 || len(v.Members) != 3 || !strings.HasPrefix(v.Members[0].Name, "pod-") {
		t.Fatalf("%+v", v)
	}
	victim := v.Members[0]
	form := url.Values{"instance": {string(victim.ID)}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.page.URL+"drain", strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusOK { // of the page that it leads back to
		t.Fatalf("status %d", answer.StatusCode)
	}
	r.within(t, 3*time.Second+slack(), "drained and gone", func() bool { return len(r.fleet.Active()) == 2 })
	r.evenWithin(t, 3*time.Second+slack())
	if s := r.witness.Summary(); r.fleet.Crashed() > 0 || s.SplitBrain > 0 {
		t.Errorf("%d crashed, %+v", r.fleet.Crashed(), s)
	}
}

func TestPageActsForThisMachineAlone(t *testing.T) {
	for _, c := range []struct {
		from, host string
		want       bool
	}{
		{"127.0.0.1:40000", "127.0.0.1:8080", true},
		{"[::1]:40000", "localhost:8080", true},
		{"[::ffff:127.0.0.1]:40000", "[::1]:8080", true},
		{"192.0.2.7:40000", "127.0.0.1:8080", false},
		{"127.0.0.1:40000", "rebound.example:8080", false},
		{"127.0.0.1:40000", "", false},
	} {
		r := httptest.NewRequest(http.MethodPost, "/drain", nil)
		r.RemoteAddr, r.Host = c.from, c.host
		if err := local(r, dashboard.Action{}); (err == nil) != c.want {
			t.Errorf("from %s at %s: %v", c.from, c.host, err)
		}
	}
}

// The address is told beside the events, never among them.
func TestPageIsAnnounced(t *testing.T) {
	notShort(t)
	cmd, stdout, stderr := program(t, "-for", "2s", "-pods", "1", "-workloads", "2", "-json", "-lease-ttl", testTTL)
	if status := exitStatus(t, cmd.Run()); status != exitGood {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if !regexp.MustCompile(`(?m)^the fleet's page: http://127\.0\.0\.1:\d+/$`).MatchString(stderr.String()) {
		t.Errorf("no address: %s", stderr)
	}
	if strings.Contains(stdout.String(), "http://") {
		t.Errorf("the address is among the events: %s", stdout)
	}
	verdict(t, stdout.String())
}
