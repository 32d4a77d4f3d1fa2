package dashboard

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/tenuretest"
)

// listener is the client of a stream, in memory.
type listener struct {
	header http.Header
	pipe   *io.PipeWriter
	events *bufio.Reader
	code   int
	end    context.CancelFunc
	done   chan struct{}
}

func (l *listener) Header() http.Header         { return l.header }
func (l *listener) Write(b []byte) (int, error) { return l.pipe.Write(b) }
func (l *listener) WriteHeader(code int)        { l.code = code }
func (l *listener) Flush()                      {}

func listen(t *testing.T, p *Page, query string) *listener {
	t.Helper()
	in, out := io.Pipe()
	ctx, end := context.WithCancel(context.Background())
	l := &listener{header: http.Header{}, pipe: out, events: bufio.NewReaderSize(in, 1<<20), end: end, done: make(chan struct{})}
	go func() {
		defer close(l.done)
		p.ServeHTTP(l, httptest.NewRequest(http.MethodGet, "/x/events?"+query, nil).WithContext(ctx))
		_ = out.Close()
	}()
	t.Cleanup(func() { end(); _ = in.Close(); <-l.done })
	return l
}

// next returns the next event of the kind.
func (l *listener) next(t *testing.T, kind string) (data string) {
	t.Helper()
	for {
		name, err := l.events.ReadString('\n')
		require.NoError(t, err)
		text, err := l.events.ReadString('\n')
		require.NoError(t, err)
		_, err = l.events.ReadString('\n')
		require.NoError(t, err)
		if name == "event: "+kind+"\n" {
			return strings.TrimPrefix(text, "data: ")
		}
	}
}

func (l *listener) view(t *testing.T) map[string]string {
	t.Helper()
	var v map[string]string
	require.NoError(t, json.Unmarshal([]byte(l.next(t, "view")), &v))
	return v
}

func TestStreamTellsWhatChanges(t *testing.T) {
	inFleet(t, Config{}, func(t *testing.T, f *tenuretest.Fleet[int], p *Page) {
		l := listen(t, p, "w=job-00")
		first := l.view(t)
		assert.Len(t, first, len(sections), "a new viewer gets everything")
		has(t, first["verdict"], "All 9 workloads have an owner")
		has(t, first["detail"], "Job 0")
		assert.Equal(t, "text/event-stream", l.header.Get("Content-Type"))

		// While nothing happens there are pulses alone.
		began := time.Now()
		var beats pulse
		for time.Since(began) < 20*time.Second {
			require.NoError(t, json.Unmarshal([]byte(l.next(t, "pulse")), &beats))
		}
		require.Len(t, beats.Members, 3)
		assert.Greater(t, beats.Members[0].Left, 7000.0)

		// A change is told within a second.
		f.Drain("a")
		began = time.Now()
		var text string
		for !strings.Contains(text, "a is draining: 3 workloads") {
			text = l.view(t)["verdict"]
		}
		assert.Less(t, time.Since(began), time.Second)
		l.end()
	})
}

func TestStreamsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open9(t, written(t, 1, 1), Config{MaxStreams: 1})
		l := listen(t, p, "")
		l.view(t)
		w := get(p, "/events")
		assert.Equal(t, http.StatusServiceUnavailable, w.Code)
		assert.NotEmpty(t, w.Header().Get("Retry-After"))
		l.end()
		_, _ = io.Copy(io.Discard, l.events)
		<-l.done
		listen(t, p, "").view(t)

		assert.Equal(t, http.StatusServiceUnavailable, get(open9(t, written(t, 1, 1), Config{MaxStreams: -1}), "/events").Code)
	})
}

func TestCloseEndsStreams(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := open9(t, written(t, 1, 1), Config{})
		l := listen(t, p, "")
		l.view(t)
		p.Close()
		p.Close()
		_, err := io.Copy(io.Discard, l.events)
		require.NoError(t, err)
		<-l.done
		assert.Equal(t, http.StatusServiceUnavailable, get(p, "/events").Code)
		assert.Equal(t, http.StatusOK, get(p, "/").Code)
	})
}

// However many watch, the store is read once for all of them.
func TestOneLookForAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &counting{broken: broken{Store: written(t, 1, 1)}}
		p := open9(t, store, Config{})
		for range 10 {
			l := listen(t, p, "")
			go func() { _, _ = io.Copy(io.Discard, l.events) }()
		}
		time.Sleep(10 * time.Second)
		assert.InDelta(t, 20, store.count(), 2)
	})
}

type counting struct {
	broken
	reads int
}

// Leases counts.
func (c *counting) Leases(ctx context.Context) ([]lease.Lease, error) {
	c.mu.Lock()
	c.reads++
	c.mu.Unlock()
	return c.broken.Leases(ctx)
}

func (c *counting) count() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reads
}
