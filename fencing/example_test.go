package fencing_test

import (
	"context"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/tenure-go/tenure"
	"github.com/tenure-go/tenure/fencing"
	"github.com/tenure-go/tenure/memory"
)

// A resource behind HTTP, and a worker that writes to it for as long as it is the owner. A former owner, which
// was suspended and does not know that its term is over, is refused.
func Example() {
	ledger := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		entry, _ := io.ReadAll(r.Body)
		fmt.Println("ledger:", string(entry))
	})
	guarded, err := fencing.Require(ledger, new(fencing.Memory), fencing.Config{})
	if err != nil {
		log.Fatal(err)
	}
	server := httptest.NewServer(guarded)
	defer server.Close()

	store, err := memory.New(memory.Config{}) // redisstore or postgresstore in production
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	var former string // the header of the first term
	for range 2 {
		ctx, stop := context.WithCancel(context.Background())
		err = tenure.Singleton(ctx, store, "bookkeeper", func(_ context.Context, term *tenure.Term) error {
			client := &http.Client{Transport: fencing.Transport(term, nil)}
			resp, err := client.Post(server.URL, "text/plain", strings.NewReader("one entry"))
			if err != nil {
				return err
			}
			defer resp.Body.Close()
			if former == "" {
				former = resp.Request.Header.Get(fencing.Header)
			}
			stop()
			return fencing.Refused(resp)
		})
		fmt.Println("term over:", err)
	}

	// What the first owner would send if it woke up now.
	late, _ := http.NewRequest(http.MethodPost, server.URL, strings.NewReader("a late entry"))
	late.Header.Set(fencing.Header, former)
	resp, err := http.DefaultClient.Do(late)
	if err != nil {
		log.Fatal(err)
	}
	defer resp.Body.Close()
	fmt.Println("late entry:", resp.Status)
	// Output:
	// ledger: one entry
	// term over: <nil>
	// ledger: one entry
	// term over: <nil>
	// late entry: 412 Precondition Failed
}

// A resource that runs in several processes, or whose writes outlast its handlers, compares the token where it writes.
func ExampleFromContext() {
	write := func(t fencing.Token) (rows int) { // UPDATE account SET ..., fence = $token WHERE id = $1 AND fence <= $token
		return 0
	}
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t, _ := fencing.FromContext(r.Context())
		if write(t) == 0 {
			fencing.Refuse(w, &fencing.StaleError{Token: t, Highest: t.Value + 1})
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
	guarded, err := fencing.Require(handler, new(fencing.Memory), fencing.Config{})
	if err != nil {
		log.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodPut, "/accounts/1", nil)
	r.Header.Set(fencing.Header, fencing.Token{Key: "bookkeeper", Value: 7}.String())
	w := httptest.NewRecorder()
	guarded.ServeHTTP(w, r)
	fmt.Println(w.Code, w.Header().Get(fencing.Header))
	// Output: 412 8;key=bookkeeper
}
