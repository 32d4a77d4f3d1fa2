package witness

import (
	"encoding/json"
	"errors"
	"net/http"
)

// entry is one item of a request: a write or an event.
type entry struct {
	Write *Write `json:"write,omitempty"`
	Event *Event `json:"event,omitempty"`
}

// result is the answer to an entry; an empty one says yes.
type result struct {
	Stale bool   `json:"stale,omitempty"`
	Error string `json:"error,omitempty"`
}

const mostBody = 1 << 20

// Handler serves the ledger to Clients: POST / takes a list of entries and answers each of them, in order.
func Handler(w *Witness) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /{$}", func(rw http.ResponseWriter, r *http.Request) {
		var entries []entry
		if err := json.NewDecoder(http.MaxBytesReader(rw, r.Body, mostBody)).Decode(&entries); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		results := make([]result, len(entries))
		for i, e := range entries {
			if err := w.accept(e); err != nil {
				results[i] = result{Stale: errors.Is(err, ErrStale), Error: err.Error()}
			}
		}
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(results) // the client has gone
	})
	return mux
}

func (w *Witness) accept(e entry) error {
	switch {
	case e.Write != nil:
		return w.Append(*e.Write)
	case e.Event != nil:
		return w.Record(*e.Event)
	}
	return ErrRefused
}
