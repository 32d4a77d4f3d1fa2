package health_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/health"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/runner"
)

// Liveness and readiness on a mux of your own, with a check of your own.
func Example() {
	store, err := memory.New(memory.Config{})
	if err != nil {
		log.Fatal(err)
	}
	work := func(ctx context.Context, term *runner.Term, _ struct{}) error {
		<-term.Draining()
		return nil
	}
	c, err := coordinator.New(store, []coordinator.Workload[struct{}]{{Key: "sync"}}, work, coordinator.Config{})
	if err != nil {
		log.Fatal(err)
	}
	h, err := health.New(health.Config{
		ReadyChecks: []health.Check{{Name: "database", Func: func(ctx context.Context) error { return nil }}},
	}, health.Coordinator(c))
	if err != nil {
		log.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.Handle("/livez", h.Livez())
	mux.Handle("/readyz", h.Readyz())

	// c.Run was not called yet: the process is alive, and not ready.
	for _, path := range []string{"/livez", "/readyz"} {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Print(w.Code, "\n", w.Body)
	}
	// Output:
	// 200
	// ok coordinator
	// 503
	// failed coordinator: it does not run
	// ok database
}
