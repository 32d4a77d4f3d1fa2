package dashboard

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"time"
)

// pulse is what changes all the time: how long each instance still lives, and the sentence.
type pulse struct {
	At      int64   `json:"at"` // milliseconds; this machine's clock
	Read    int64   `json:"read"`
	Failing bool    `json:"failing"`
	Verdict Verdict `json:"verdict"`
	Members []beat  `json:"members"`
}

// beat is one instance's life: milliseconds left, of the whole.
type beat struct {
	ID   string  `json:"id"`
	Left float64 `json:"left"`
	Of   float64 `json:"of"`
}

// writeLimit is how long one write to a viewer may take before the viewer counts as gone.
const writeLimit = 10 * time.Second

// stream is a live view: what a query shows, whenever it changes. It ends with its request.
func (p *Page) stream(w http.ResponseWriter, r *http.Request) {
	q, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		p.refuse(w, r, http.StatusBadRequest, oneLine(err))
		return
	}
	if p.streams.Add(1) > int64(p.cfg.MaxStreams) || p.isClosed() {
		p.streams.Add(-1)
		w.Header().Set("Retry-After", "10")
		p.refuse(w, r, http.StatusServiceUnavailable, "No more live views are open to new viewers; the page itself still answers.")
		return
	}
	defer p.streams.Add(-1)
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("X-Accel-Buffering", "no") // a proxy that collects answers would hold the news back
	v := &viewer{page: p, query: q, out: w, control: http.NewResponseController(w), hashes: map[string]uint64{}, seed: maphash.MakeSeed()}
	if r.Method == http.MethodHead {
		return
	}
	v.watch(r.Context())
}

func (p *Page) isClosed() bool {
	select {
	case <-p.ended:
		return true
	default:
		return false
	}
}

// viewer is one open stream.
type viewer struct {
	page    *Page
	query   query
	out     http.ResponseWriter
	control *http.ResponseController
	seed    maphash.Seed
	version uint64
	begun   bool
	hashes  map[string]uint64 // of the sections as they were sent
}

// watch sends until the viewer goes, or the page is closed.
func (v *viewer) watch(ctx context.Context) {
	p := v.page
	tick := time.NewTicker(p.cfg.Refresh)
	defer tick.Stop()
	for {
		// While somebody watches, looks are as often as Refresh says, whoever asks for them.
		f := p.look(ctx, p.cfg.Refresh*9/10, firstLook)
		if ctx.Err() != nil || v.send(f) != nil {
			return
		}
		news := p.nextNews()
		if p.fleet.Load() != f {
			continue // it came while this was sent
		}
		select {
		case <-ctx.Done():
			return
		case <-p.ended:
			return
		case <-tick.C:
		case <-news:
		}
	}
}

// send tells the viewer what is new to it.
func (v *viewer) send(f *fleet) error {
	var b bytes.Buffer
	if !v.begun || f.version != v.version {
		changed, err := v.changed(f)
		if err != nil {
			return err
		}
		v.begun, v.version = true, f.version
		if len(changed) > 0 {
			if err := frame(&b, "view", changed); err != nil {
				return err
			}
		}
	}
	if err := frame(&b, "pulse", pulseOf(f)); err != nil {
		return err
	}
	// Where the limit cannot be set, such as in a test, a dead viewer is noticed later.
	_ = v.control.SetWriteDeadline(time.Now().Add(writeLimit))
	if _, err := v.out.Write(b.Bytes()); err != nil {
		return err
	}
	return v.control.Flush()
}

// changed renders the sections and returns those that the viewer does not have.
func (v *viewer) changed(f *fleet) (map[string]string, error) {
	s := v.page.show(f, v.query)
	out := map[string]string{}
	for _, name := range sections {
		html, err := s.fragment(name)
		if err != nil {
			return nil, err
		}
		sum := maphash.Bytes(v.seed, html)
		if old, sent := v.hashes[name]; !sent || old != sum {
			v.hashes[name] = sum
			out[name] = string(html)
		}
	}
	return out, nil
}

func pulseOf(f *fleet) pulse {
	now := time.Now()
	p := pulse{At: now.UnixMilli(), Failing: f.err != nil, Verdict: f.verdict, Members: make([]beat, 0, len(f.members))}
	if !f.at.IsZero() {
		p.Read = f.at.UnixMilli()
	}
	since := ms(now.Sub(f.at)) // the bars go on shrinking between two looks
	for i := range f.members {
		if m := &f.members[i]; !m.Stranger && i < mostMembers {
			p.Members = append(p.Members, beat{string(m.ID), max(m.TTLLeftMs-since, 0), m.TTLMs})
		}
	}
	return p
}

// frame writes one event. JSON has no line breaks of its own.
func frame(b *bytes.Buffer, event string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	fmt.Fprintf(b, "event: %s\ndata: %s\n\n", event, data)
	return nil
}
