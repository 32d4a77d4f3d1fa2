package witness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
)

// Handler serves the ledger to Clients. An accepted entry or event answers 204, a stale write 409, nonsense 400.
func Handler(w *Witness) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /write", serve(w.Append))
	mux.HandleFunc("POST /event", serve(w.Record))
	return mux
}

const mostBody = 64 << 10

func serve[T any](do func(T) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var v T
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, mostBody)).Decode(&v); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		switch err := do(v); {
		case err == nil:
			w.WriteHeader(http.StatusNoContent)
		case errors.Is(err, ErrStale):
			http.Error(w, err.Error(), http.StatusConflict)
		default:
			http.Error(w, err.Error(), http.StatusBadRequest)
		}
	}
}

// Client is a pod's way to the witness. It is safe for concurrent use.
type Client struct {
	url  string
	http *http.Client
}

// NewClient returns a client of the ledger at url.
func NewClient(url string) *Client {
	transport := &http.Transport{MaxIdleConns: 512, MaxIdleConnsPerHost: 512, IdleConnTimeout: time.Minute}
	return &Client{url: url, http: &http.Client{Transport: transport}}
}

// Append adds an entry to the ledger. ErrStale: a newer owner has written, and this one's term is over.
// Any other error: unknown whether it was written.
func (c *Client) Append(ctx context.Context, e Write) error { return c.post(ctx, "/write", e) }

// reportTimeout bounds a report, so that a witness that hangs cannot keep a worker from returning.
const reportTimeout = 5 * time.Second

// Report notes an event. It does not heed a worker's context, which has ended when there is
// something to report about its end.
func (c *Client) Report(e Event) error {
	ctx, cancel := context.WithTimeout(context.Background(), reportTimeout)
	defer cancel()
	return c.post(ctx, "/event", e)
}

func (c *Client) post(ctx context.Context, path string, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	resp, err := c.http.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	switch {
	case resp.StatusCode == http.StatusNoContent:
		return nil
	case resp.StatusCode == http.StatusConflict:
		return fmt.Errorf("%s: %w", bytes.TrimSpace(text), ErrStale)
	case err != nil:
		return err
	}
	return fmt.Errorf("ledger answered %s: %s", resp.Status, bytes.TrimSpace(text))
}
