package tenureprom_test

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	tenureprom "github.com/tenure-go/tenure/adapters/prometheus"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// A leader whose metrics are scraped while it leads, and after.
func Example() {
	collector, err := tenureprom.New(tenureprom.Config{Labels: prometheus.Labels{"fleet": "billing"}})
	if err != nil {
		log.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(collector)
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	server := httptest.NewServer(mux) // yours is a http.Server on an internal port
	defer server.Close()

	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	leads := make(chan struct{})
	spec := runner.Spec{Key: "nightly-report", Work: func(_ context.Context, term *runner.Term) error {
		close(leads)
		<-term.Draining()
		return nil
	}}
	r, err := runner.New(store, instance.Process(), spec, runner.Config{Observers: []any{collector}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	over := make(chan error, 1)
	go func() { over <- r.Run(ctx) }()

	<-leads
	scrapeUntil(server.URL, `tenure_is_leader{fleet="billing",key="nightly-report"} 1`)
	stop()
	if err := <-over; err != nil {
		log.Fatal(err)
	}
	scrapeUntil(server.URL, `tenure_terms_ended_total{fleet="billing",reason="released"} 1`)
	// Output:
	// tenure_is_leader{fleet="billing",key="nightly-report"} 1
	// tenure_terms_ended_total{fleet="billing",reason="released"} 1
}

// scrapeUntil scrapes until a line is there, and prints it.
func scrapeUntil(url, want string) {
	for {
		answer, err := http.Get(url + "/metrics")
		if err != nil {
			log.Fatal(err)
		}
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if strings.TrimSpace(lines.Text()) == want {
				answer.Body.Close()
				fmt.Println(want)
				return
			}
		}
		answer.Body.Close()
	}
}
