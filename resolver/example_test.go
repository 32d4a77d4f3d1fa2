package resolver_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/memory"
	"github.com/tenure-go/tenure/resolver"
	"github.com/tenure-go/tenure/runner"
)

// Each pod of a fleet serves every tenant: its own by itself, the others' by asking their owner. The
// pod here has no tenants and passes the request on.
func Example() {
	store, err := memory.New(memory.Config{}) // redisstore or postgresstore in production
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	// The owner: a pod that serves the tenants that it holds, and says so in its address.
	var pod *coordinator.Coordinator[string]
	owner := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		tenant := r.PathValue("tenant")
		if !slices.ContainsFunc(pod.Held(), func(l lease.Lease) bool { return l.Key == tenant }) {
			w.WriteHeader(http.StatusMisdirectedRequest) // it has moved since the sender asked
			return
		}
		fmt.Fprintf(w, "tenant %s, served by its owner", tenant)
	}))
	owner.Config.Handler = route("/tenants/{tenant}", owner.Config.Handler)
	defer owner.Close()
	pod, err = coordinator.New(store, []coordinator.Workload[string]{{Key: "acme", Value: "acme"}},
		func(ctx context.Context, term *runner.Term, _ string) error { <-term.Draining(); return nil },
		coordinator.Config{Instance: instance.Instance{ID: instance.New(), Address: owner.URL}})
	if err != nil {
		log.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- pod.Run(ctx) }()

	// Any other pod: it finds the owner and passes the request on.
	owners, err := resolver.New(store, resolver.Config{})
	if err != nil {
		log.Fatal(err)
	}
	front := httptest.NewServer(route("/tenants/{tenant}", forward(owners)))
	defer front.Close()
	if _, err := owners.Await(ctx, "acme"); err != nil { // the fleet has just been started
		log.Fatal(err)
	}
	fmt.Println(get(front.URL + "/tenants/acme"))
	fmt.Println(get(front.URL + "/tenants/unheard-of"))

	stop()
	fmt.Println("stopped:", <-done)
	// Output:
	// 200 tenant acme, served by its owner
	// 503 tenure: workload has no owner
	// stopped: <nil>
}

// forward passes a request on to the owner of its tenant.
func forward(owners *resolver.Resolver) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		owner, err := owners.Resolve(r.Context(), r.PathValue("tenant"))
		switch {
		case errors.Is(err, resolver.ErrUnknown), errors.Is(err, resolver.ErrInvalid):
			http.NotFound(w, r)
			return
		case err != nil: // it is moving, or the store is away: the client may try again
			w.Header().Set("Retry-After", "1")
			http.Error(w, reason(err).Error(), http.StatusServiceUnavailable)
			return
		}
		address, err := url.Parse(owner.Instance.Address)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		proxy := httputil.ReverseProxy{
			Rewrite: func(p *httputil.ProxyRequest) { p.SetURL(address); p.SetXForwarded() },
			ModifyResponse: func(answer *http.Response) error {
				if answer.StatusCode == http.StatusMisdirectedRequest {
					owners.Stale(owner) // the next request asks the store
				}
				return nil
			},
			ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
				owners.Stale(owner)
				http.Error(w, err.Error(), http.StatusBadGateway)
			},
		}
		proxy.ServeHTTP(w, r)
	})
}

// reason is the part of an error that a client may see.
func reason(err error) error {
	for _, known := range []error{resolver.ErrNoOwner, resolver.ErrNoAddress, resolver.ErrUnavailable} {
		if errors.Is(err, known) {
			return known
		}
	}
	return err
}
