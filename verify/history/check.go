package history

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// Verdict is what became of a check.
type Verdict struct {
	// Linearizable: there is an order of the calls that explains every answer.
	Linearizable bool
	// Undecided: the time was not enough to find one, or to see that there is none.
	Undecided bool
	// Calls is the length of the history, Unknown how many of its calls have no known outcome.
	Calls, Unknown int

	model porcupine.Model
	info  porcupine.LinearizationInfo
}

// Check looks for an order, for as long as limit; 0 means without end. A history with more than 24 sessions
// or 4 keys is an error. Call it when all clients are done.
func (r *Recorder) Check(limit time.Duration) (Verdict, error) {
	unsettled := r.Unknown()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.sessions) > maxSessions || len(r.keys) > maxKeys {
		return Verdict{}, fmt.Errorf("history: %d sessions and %d keys: at most %d and %d fit; record a shorter one", len(r.sessions), len(r.keys), maxSessions, maxKeys)
	}
	m := model()
	result, info := porcupine.CheckOperationsVerbose(m, slices.Clone(r.ops), limit)
	return Verdict{
		Linearizable: result == porcupine.Ok, Undecided: result == porcupine.Unknown,
		Calls: len(r.ops), Unknown: unsettled, model: m, info: info,
	}, nil
}

// Visualise writes the history, and how far an explanation came, as an HTML page into a folder, which is made
// where it is missing. It returns the page's path.
func (v Verdict) Visualise(folder, name string) (string, error) {
	if err := os.MkdirAll(folder, 0o750); err != nil {
		return "", err
	}
	path := filepath.Join(folder, name+".html")
	if err := porcupine.VisualizePath(v.model, v.info, path); err != nil {
		return "", fmt.Errorf("history: %s: %w", path, err)
	}
	return path, nil
}
