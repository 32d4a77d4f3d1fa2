package dashboard_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/dashboard"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// A page of the fleet beside the process's other internal pages.
func Example() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	work := func(ctx context.Context, term *runner.Term, feed string) error {
		<-term.Draining()
		return nil
	}
	feeds := []coordinator.Workload[string]{{Key: "feed/a"}, {Key: "feed/b"}}
	c, err := coordinator.New(store, feeds, work, coordinator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	page, err := dashboard.New(store, dashboard.Config{Title: "Feeds", Coordinator: c})
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/fleet/", page)
	server := httptest.NewServer(mux) // an http.Server in a real program, with RegisterOnShutdown(page.Close)
	defer server.Close()
	// go c.Run(ctx), and go page.Run(ctx) for a timeline without holes.

	request, err := http.NewRequest(http.MethodGet, server.URL+"/fleet/", nil)
	if err != nil {
		log.Fatal(err)
	}
	request.Header.Set("Accept", "application/json")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		log.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(answer.Status, len(body) > 0)
	// Output: 200 OK true
}

// Only operators may drain an instance or revoke a lease. Without Authorize nobody may.
func ExampleConfig_authorize() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	page, err := dashboard.New(store, dashboard.Config{
		Authorize: func(r *http.Request, a dashboard.Action) error {
			user, _, _ := r.BasicAuth() // checked before, by the middleware around the page
			if user != "operator" {
				return fmt.Errorf("%q may not %s", user, a.Kind)
			}
			return nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	w := httptest.NewRecorder()
	r := httptest.NewRequest(http.MethodPost, "/fleet/drain?", nil)
	r.PostForm = map[string][]string{"instance": {"pod-1"}}
	r.Header.Set("Accept", "application/json")
	page.ServeHTTP(w, r)
	fmt.Print(w.Body)
	// Output: {"error":"\"\" may not drain"}
}
