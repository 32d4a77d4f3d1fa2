package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tenure-go/tenure/dashboard"
)

// Every pod says where it may be asked, and answers there as an application's internal port does.
func TestPodsAnswerOnTheirInternalPort(t *testing.T) {
	r := newTestRun(t, "-workloads", "6", "-lease-ttl", testTTL)
	var err error
	if r.page, err = openPage(r.options, r.host.cfg); err != nil {
		t.Fatal(err)
	}
	r.addPods(t, 2)
	r.evenWithin(t, 3*time.Second+slack())
	r.within(t, time.Second+slack(), "shown", func() bool { return lookAt(t, r.page.URL).Verdict.Level == dashboard.Good })
	leaders := 0
	for _, m := range lookAt(t, r.page.URL).Members {
		for _, path := range []string{"/livez", "/readyz"} {
			if status, text := ask(t, "http://"+m.Address+path); status != http.StatusOK {
				t.Errorf("%s %s: %d %s", m.Name, path, status, text)
			}
		}
		_, text := ask(t, "http://"+m.Address+"/metrics")
		for _, want := range []string{"tenure_held ", "tenure_renew_margin_left_ratio_count", "go_goroutines "} {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not measure %q", m.Name, want)
			}
		}
		if strings.Contains(text, `tenure_is_leader{key="`+digestKey+`"} 1`) {
			leaders++
		}
	}
	if leaders != 1 {
		t.Errorf("%d pods say that they run the singleton", leaders)
	}
}

func ask(t *testing.T, at string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
