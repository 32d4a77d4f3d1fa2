package dashboard

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What a browser is sent of a fleet of 10 000 workloads, before and after the page of rows.
func TestTransferOfALargeFleet(t *testing.T) {
	p := open9(t, written(t, 12, 10_000), Config{})
	total := 0
	for _, path := range []string{"/", "/style.css", "/live.js", "/icon.svg"} {
		plain, packed := get(p, path).Body.Len(), get(p, path, "Accept-Encoding", "gzip").Body.Len()
		t.Logf("%-10s %6d bytes, %6d compressed", path, plain, packed)
		total += plain
	}
	assert.LessOrEqual(t, total, 150_000, "uncompressed, with the first rows")
	html := get(p, "/").Body.String()
	assert.LessOrEqual(t, strings.Count(html, `class="c active"`), mostCells+12+defaultPer+1)
	has(t, html, "one square stands for 14 workloads")
	has(t, html, "All 10,000 workloads have an owner, on 12 instances, 833 or 834 each.")
	v := twin(t, p, "?per=500&page=20")
	assert.Len(t, v.Workloads.Rows, 500)
	assert.Equal(t, "tenant/09999", v.Workloads.Rows[499].Key)
	assert.Equal(t, 1111, twin(t, p, "?q=tenant/0%201").Workloads.Matching+twin(t, p, "?q=tenant/0111").Workloads.Matching+
		twin(t, p, "?q=tenant/00").Workloads.Matching+twin(t, p, "?q=tenant/010").Workloads.Matching+1)
}

func TestManyInstances(t *testing.T) {
	p := open9(t, written(t, 130, 130), Config{})
	html := get(p, "/").Body.String()
	has(t, html, "82 more instances are not drawn.")
	has(t, html, "30 more instances are in the JSON of this page.")
	assert.Len(t, twin(t, p, "").Members, 130)
	assert.LessOrEqual(t, len(html), 150_000)
}

// sink is a client that counts and forgets.
type sink struct {
	header http.Header
	n      int
}

func (s *sink) Header() http.Header         { return s.header }
func (s *sink) Write(b []byte) (int, error) { s.n += len(b); return len(b), nil }
func (s *sink) WriteHeader(int)             {}

// BenchmarkFirstPage is everything from the request to the last byte for 10 000 workloads, the reading of
// the store included: what the first viewer waits for.
func BenchmarkFirstPage(b *testing.B) {
	store := written(b, 12, 10_000)
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept-Encoding", "gzip")
	b.ReportAllocs()
	for b.Loop() {
		p, err := New(store, Config{})
		require.NoError(b, err)
		s := &sink{header: http.Header{}}
		p.ServeHTTP(s, r)
		b.ReportMetric(float64(s.n), "bytes/page")
	}
}

// BenchmarkNextPage is the same for those who come while the fleet was just read.
func BenchmarkNextPage(b *testing.B) {
	p, err := New(written(b, 12, 10_000), Config{Refresh: 10 * time.Second})
	require.NoError(b, err)
	r := httptest.NewRequest(http.MethodGet, "/?q=tenant/01&sort=since", nil)
	b.ReportAllocs()
	for b.Loop() {
		p.ServeHTTP(&sink{header: http.Header{}}, r)
	}
}

// BenchmarkLook is one look at 10 000 workloads: what watching costs, every Refresh.
func BenchmarkLook(b *testing.B) {
	p, err := New(written(b, 12, 10_000), Config{})
	require.NoError(b, err)
	b.ReportAllocs()
	for b.Loop() {
		fl := &flight{done: make(chan struct{})}
		p.fly(fl)
	}
}
