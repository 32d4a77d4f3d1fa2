package health

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
)

// Report is the JSON of an answer.
type Report struct {
	// OK is what the status says.
	OK     bool     `json:"ok"`
	Checks []Result `json:"checks"`
}

// Result is one check.
type Result struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	// Why says why not.
	Why string `json:"why,omitempty"`
	// Stuck are workloads here whose work ignores its cancellation.
	Stuck []string `json:"stuck,omitempty"`
}

func result(name string, err error) Result {
	if err == nil {
		return Result{Name: name, OK: true}
	}
	return Result{Name: name, Why: strings.Join(strings.Fields(strings.ToValidUTF8(err.Error(), "?")), " ")}
}

func (r Report) with(more ...Result) Report {
	r.Checks = append(r.Checks, more...)
	r.OK = true
	for _, c := range r.Checks {
		r.OK = r.OK && c.OK
	}
	return r
}

// err is the report as an error: nil where all is well.
func (r Report) err() error {
	var errs []error
	for _, c := range r.Checks {
		if !c.OK {
			errs = append(errs, fmt.Errorf("%s: %s", c.Name, c.Why))
		}
	}
	return errors.Join(errs...)
}

// Livez answers 200 while the process is alive, and 503 when a restart is due.
func (h *Health) Livez() http.Handler { return handler(h.live) }

// Readyz answers 200 while the process is ready, and 503 while it is not.
func (h *Health) Readyz() http.Handler { return handler(h.ready) }

type handler func(ctx context.Context) Report

// ServeHTTP answers GET and HEAD.
func (f handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Cache-Control", "no-store")
	head.Set("X-Content-Type-Options", "nosniff")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "use GET", http.StatusMethodNotAllowed)
		return
	}
	report := f(r.Context())
	if report.Checks == nil {
		report.Checks = []Result{}
	}
	code := http.StatusOK
	if !report.OK {
		code = http.StatusServiceUnavailable
	}
	if strings.Contains(r.Header.Get("Accept"), "application/json") {
		head.Set("Content-Type", "application/json")
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(report) // a client that has gone away cannot be told so
		return
	}
	head.Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(code)
	for _, c := range report.Checks {
		switch {
		case !c.OK:
			fmt.Fprintf(w, "failed %s: %s\n", c.Name, c.Why)
		case len(c.Stuck) > 0:
			fmt.Fprintf(w, "ok %s (its work ignores its cancellation: %s)\n", c.Name, some(c.Stuck))
		default:
			fmt.Fprintf(w, "ok %s\n", c.Name)
		}
	}
	if len(report.Checks) == 0 {
		fmt.Fprintln(w, "ok")
	}
}
