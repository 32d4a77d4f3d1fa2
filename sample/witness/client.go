package witness

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"
)

// Client is a pod's way to the witness. It is safe for concurrent use. While one request is under way
// it collects what else is to be said, and sends that with the next, in the order in which it was said.
type Client struct {
	url  string
	http http.Client

	mu      sync.Mutex
	waiting []*call
	sending bool
}

// call is an entry on its way.
type call struct {
	entry
	err  error
	done chan struct{} // closed when err is known
}

// NewClient returns a client of the ledger at url.
func NewClient(url string) *Client {
	return &Client{url: url, http: http.Client{Timeout: requestTimeout}}
}

// requestTimeout bounds a request, so that a ledger that hangs cannot keep a worker from returning.
const requestTimeout = 5 * time.Second

// mostEntries bounds one request.
const mostEntries = 1000

// Append adds an entry to the ledger and waits until it is known to be there. ErrStale: a newer owner has
// written, and this one's term is over. Any other error: unknown whether it was written.
func (c *Client) Append(ctx context.Context, e Write) error {
	return c.wait(ctx, entry{Write: &e})
}

// Report notes an event and waits until the witness has it. It heeds no context: a worker's has ended when
// there is something to report about its end.
func (c *Client) Report(e Event) error { return c.wait(context.Background(), entry{Event: &e}) }

// Mention notes an event without waiting. It is told before anything that is said later.
func (c *Client) Mention(e Event) { c.say(entry{Event: &e}) }

func (c *Client) wait(ctx context.Context, e entry) error {
	x := c.say(e)
	select {
	case <-x.done:
		return x.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (c *Client) say(e entry) *call {
	x := &call{entry: e, done: make(chan struct{})}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, x)
	if !c.sending {
		c.sending = true
		go c.send()
	}
	return x
}

// send goes on until nothing waits.
func (c *Client) send() {
	for {
		c.mu.Lock()
		n := min(len(c.waiting), mostEntries)
		calls := c.waiting[:n:n]
		c.waiting = c.waiting[n:]
		c.sending = n > 0
		c.mu.Unlock()
		if n == 0 {
			return
		}
		results, err := c.post(calls)
		for i, x := range calls {
			switch {
			case err != nil:
				x.err = err
			case results[i].Stale:
				x.err = fmt.Errorf("%w: %s", ErrStale, results[i].Error)
			case results[i].Error != "":
				x.err = errors.New(results[i].Error)
			}
			close(x.done)
		}
	}
}

func (c *Client) post(calls []*call) ([]result, error) {
	entries := make([]entry, len(calls))
	for i, x := range calls {
		entries[i] = x.entry
	}
	body, err := json.Marshal(entries)
	if err != nil {
		return nil, err
	}
	resp, err := c.http.Post(c.url, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(io.LimitReader(resp.Body, mostBody))
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("ledger answered %s: %s", resp.Status, bytes.TrimSpace(text))
	}
	var results []result
	if err := json.Unmarshal(text, &results); err != nil || len(results) != len(calls) {
		return nil, fmt.Errorf("ledger answered %d entries with %q", len(calls), text)
	}
	return results, nil
}
