package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"
)

// report is what a worker sends: at its start, with every write, and when it has returned.
type report struct {
	Pod, Key string
	Token    uint64
	Left     time.Duration // how long the sender believes its term to last, as read before it sent this
	Ended    bool
}

// holder is the newest term of a key that the witness knows.
type holder struct {
	pod      string
	token    uint64
	last     time.Time // of its latest write
	believes time.Time // until when it holds itself for the owner; the zero time once it has returned
}

// tally is what the witness counted.
type tally struct {
	Terms, Writes, Overlaps, Stale int
	Unowned                        time.Duration // the longest
}

// witness receives the writes. It is safe for concurrent use.
type witness struct {
	t   *testing.T
	url string

	mu    sync.Mutex
	keys  map[string]*holder
	count tally
}

func newWitness(t *testing.T) *witness {
	w := &witness{t: t, keys: map[string]*holder{}}
	server := httptest.NewServer(w)
	t.Cleanup(server.Close)
	w.url = server.URL
	return w
}

// ServeHTTP answers 409 to a write under an older token.
func (w *witness) ServeHTTP(rw http.ResponseWriter, req *http.Request) {
	var r report
	if err := json.NewDecoder(req.Body).Decode(&r); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	if !w.see(r, time.Now()) {
		http.Error(rw, "a newer token was seen", http.StatusConflict)
	}
}

// see takes a report in and reports whether it is accepted.
func (w *witness) see(r report, now time.Time) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	h := w.keys[r.Key]
	if h == nil {
		h = &holder{last: now}
		w.keys[r.Key] = h
	}
	switch {
	case r.Token < h.token:
		if !r.Ended { // to say that one has stopped is no write
			w.count.Stale++
		}
		return false
	case r.Token > h.token:
		if h.believes.After(now) {
			w.count.Overlaps++
			w.t.Errorf("%s began to work on %q under token %d while %s believed in its token %d for another %v",
				r.Pod, r.Key, r.Token, h.pod, h.token, h.believes.Sub(now))
		}
		w.count.Terms++
	case r.Pod != h.pod:
		w.count.Overlaps++
		w.t.Errorf("%s and %s both work on %q under token %d", h.pod, r.Pod, r.Key, r.Token)
	}
	if h.token > 0 { // before anything ever ran there is nothing to miss
		w.count.Unowned = max(w.count.Unowned, now.Sub(h.last))
	}
	h.pod, h.token, h.last = r.Pod, r.Token, now
	w.count.Writes++
	h.believes = time.Time{}
	if !r.Ended {
		h.believes = now.Add(r.Left)
	}
	return true
}

// since returns what was counted since the last call.
func (w *witness) since() tally {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.count
	w.count = tally{}
	return c
}

// silent lists the keys that nobody has written to for a while.
func (w *witness) silent(keys []string, now time.Time) (silent []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, key := range keys {
		if h := w.keys[key]; h == nil || now.Sub(h.last) > ttl/2 {
			silent = append(silent, key)
		}
	}
	return silent
}

// pods counts the workloads of each pod.
func (w *witness) pods() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	n := map[string]int{}
	for _, h := range w.keys {
		n[h.pod]++
	}
	return n
}

func (t tally) String() string {
	return fmt.Sprintf("%d terms, %d overlaps, %d stale writes refused, longest unowned %v", t.Terms, t.Overlaps, t.Stale, t.Unowned.Round(time.Millisecond))
}

// A witness that cannot see a fault proves nothing.
func TestWitnessSeesWhatItIsFor(t *testing.T) {
	start := time.Now()
	at := func(d time.Duration) time.Time { return start.Add(d) }
	w := &witness{t: &testing.T{}, keys: map[string]*holder{}}
	a := report{Pod: "a", Key: "k", Token: 5, Left: time.Second}
	b := report{Pod: "b", Key: "k", Token: 9, Left: time.Second}
	w.see(a, at(0))
	w.see(b, at(500*time.Millisecond)) // a believes in its term for half a second yet
	if w.see(a, at(600*time.Millisecond)) {
		t.Error("a stale write was accepted")
	}
	w.see(report{Pod: "b", Key: "k", Token: 9, Ended: true}, at(700*time.Millisecond))
	w.see(report{Pod: "a", Key: "k", Token: 12, Left: time.Second}, at(900*time.Millisecond)) // a fair handover
	w.see(report{Pod: "c", Key: "k", Token: 12, Left: time.Second}, at(time.Second))
	want := tally{Terms: 3, Writes: 5, Overlaps: 2, Stale: 1, Unowned: 500 * time.Millisecond}
	if got := w.since(); got != want {
		t.Errorf("counted %+v, want %+v", got, want)
	}
}
