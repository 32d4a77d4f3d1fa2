package dashboard

import (
	"compress/gzip"
	"errors"
	"html"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/tenure-go/tenure/coordinator"
	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

func TestWrongConfigurationIsRefused(t *testing.T) {
	store := written(t, 1, 1)
	for want, f := range map[string]func() error{
		"store":                        func() error { _, err := New(nil, Config{}); return err },
		`store "empty"`:                func() error { _, err := New(coordinator.Separate{}, Config{}); return err },
		"dashboard.Config.Title":       func() error { _, err := New(store, Config{Title: strings.Repeat("x", 81)}); return err },
		"dashboard.Config.Refresh":     func() error { _, err := New(store, Config{Refresh: 1}); return err },
		"dashboard.Config.Background":  func() error { _, err := New(store, Config{Background: 1}); return err },
		"dashboard.Config.CallTimeout": func() error { _, err := New(store, Config{CallTimeout: -1}); return err },
		"Timing.LeaseTTL":              func() error { _, err := New(store, Config{Timing: lease.Timing{LeaseTTL: -1}}); return err },
	} {
		err := f()
		require.ErrorIs(t, err, lease.ErrInvalid, want)
		assert.Contains(t, err.Error(), want)
	}
}

func TestPageIsWholeWithoutScripts(t *testing.T) {
	p := open9(t, written(t, 3, 100), Config{Title: "Orders"})
	w := get(p, "/any/prefix/")
	assert.Equal(t, 200, w.Code)
	assert.Equal(t, "text/html; charset=utf-8", w.Header().Get("Content-Type"))
	html := w.Body.String()
	has(t, html, "All 100 workloads have an owner, on 3 instances, 33 or 34 each.")
	has(t, html, "tenant/00024")
	assert.NotContains(t, html, `<a href="./?w=tenant%2F00025#detail">`)
	has(t, html, `<a rel="next" href="./?page=2#workloads">`)
	has(t, html, `<noscript><meta http-equiv="refresh" content="5"></noscript>`)
	has(t, get(p, "/?page=4").Body.String(), "tenant/00099")
	has(t, get(p, "/?page=99").Body.String(), "4 of 4")
	has(t, get(p, "/?q=00042").Body.String(), "1 of 100 workloads")
	assert.NotContains(t, get(p, "/?refresh=0").Body.String(), "http-equiv")
	assert.NotContains(t, html, "<form method=\"post\"", "it is read-only")
}

// Nothing inline, nothing from elsewhere, every link relative: so it works under any prefix and the strict policy.
func TestPolicyAndLinks(t *testing.T) {
	p := open9(t, written(t, 3, 8), Config{Authorize: func(*http.Request, Action) error { return nil }})
	w := get(p, "/deep/prefix/?w=tenant/00001&q=tenant")
	text := w.Body.String()
	csp := w.Header().Get("Content-Security-Policy")
	has(t, csp, "default-src 'none'")
	assert.NotContains(t, csp, "unsafe")
	assert.Equal(t, "nosniff", w.Header().Get("X-Content-Type-Options"))
	assert.Equal(t, "no-store", w.Header().Get("Cache-Control"))
	assert.NotRegexp(t, `(?i)\sstyle=|\son[a-z]+="|<script>|<style|javascript:`, text)
	for _, m := range regexp.MustCompile(`(?:href|src|action)="([^"]*)"`).FindAllStringSubmatch(text, -1) {
		link := html.UnescapeString(m[1])
		u, err := url.Parse(link)
		require.NoError(t, err, link)
		if u.IsAbs() || u.Host != "" || strings.HasPrefix(u.Path, "/") || strings.Contains(u.Path, "..") {
			t.Errorf("%q is not relative", link)
		}
		if u.Path == "" || u.Path == "drain" || u.Path == "revoke" {
			continue
		}
		link, _, _ = strings.Cut(link, "#")
		assert.Equal(t, 200, get(p, "/deep/prefix/"+strings.TrimPrefix(link, "./")).Code, link)
	}
}

func TestFiles(t *testing.T) {
	p := open9(t, written(t, 1, 1), Config{})
	for name, kind := range served {
		w := get(p, "/x/"+name)
		assert.Equal(t, 200, w.Code)
		assert.Equal(t, kind, w.Header().Get("Content-Type"))
		assert.Equal(t, "no-cache", w.Header().Get("Cache-Control"))
		assert.Contains(t, get(p, "/x/"+name+"?v="+assetVersion).Header().Get("Cache-Control"), "immutable")
	}
}

func TestPaths(t *testing.T) {
	p := open9(t, written(t, 1, 1), Config{})
	assert.Equal(t, 404, get(p, "/x/nothing").Code)
	has(t, get(p, "/x/nothing").Body.String(), "the page is at the path that ends in a slash")

	mux := http.NewServeMux()
	mux.Handle("/fleet/", http.StripPrefix("/fleet", p))
	mux.Handle("/fleet", http.StripPrefix("/fleet", p))
	w := get(mux, "/fleet?q=x")
	assert.Equal(t, http.StatusPermanentRedirect, w.Code)
	assert.Equal(t, "./fleet/?q=x", w.Header().Get("Location"))
	assert.Equal(t, 200, get(mux, "/fleet/").Code)
	assert.Equal(t, 200, get(mux, "/fleet/style.css").Code)
}

func TestMethods(t *testing.T) {
	p := open9(t, written(t, 1, 1), Config{})
	for _, path := range []string{"/", "/style.css", "/events"} {
		w := httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodPost, path, nil))
		assert.Equal(t, 405, w.Code, path)
		assert.Equal(t, "GET, HEAD", w.Header().Get("Allow"))
		w = httptest.NewRecorder()
		p.ServeHTTP(w, httptest.NewRequest(http.MethodHead, path, nil))
		assert.Equal(t, 200, w.Code, path)
		assert.Zero(t, w.Body.Len(), path)
	}
	assert.Equal(t, 405, get(p, "/drain").Code)
}

func TestAccept(t *testing.T) {
	p := open9(t, written(t, 1, 1), Config{})
	for accept, want := range map[string]string{
		"":                                      "text/html; charset=utf-8",
		"*/*":                                   "text/html; charset=utf-8",
		"application/json":                      "application/json",
		"application/json, text/plain, */*":     "application/json",
		"text/html,application/json;q=0.9":      "text/html; charset=utf-8",
		"text/html;q=0.5, application/json":     "application/json",
		"application/json;q=0":                  "text/html; charset=utf-8",
		"application/json;q=NaN":                "text/html; charset=utf-8",
		"text/html,application/xhtml+xml,*/*":   "text/html; charset=utf-8",
		"application/json;q=banana, text/html;": "text/html; charset=utf-8",
	} {
		w := get(p, "/", "Accept", accept)
		assert.Equal(t, want, w.Header().Get("Content-Type"), accept)
		assert.Contains(t, w.Header().Get("Vary"), "Accept")
	}
}

func TestCompressed(t *testing.T) {
	p := open9(t, written(t, 1, 60), Config{})
	plain := get(p, "/").Body.Len()
	w := get(p, "/", "Accept-Encoding", "br, gzip")
	assert.Equal(t, "gzip", w.Header().Get("Content-Encoding"))
	assert.Less(t, w.Body.Len(), plain/3)
	z, err := gzip.NewReader(w.Body)
	require.NoError(t, err)
	html, err := io.ReadAll(z)
	require.NoError(t, err)
	assert.Len(t, html, plain)
	assert.Empty(t, get(p, "/", "Accept-Encoding", "gzip;q=0").Header().Get("Content-Encoding"))
}

func TestWrongQueriesAreRefused(t *testing.T) {
	p := open9(t, written(t, 1, 1), Config{})
	for query, want := range map[string]string{
		"page=0":                        "query parameter page &#34;0&#34;: must be a number from 1 to 1000000",
		"page=x":                        "must be a number",
		"page=1e3":                      "must be a number",
		"per=501":                       "must be a number from 1 to 500",
		"refresh=-1":                    "must be a number from 0 to 3600",
		"state=happy":                   "must be attention, active",
		"sort=colour":                   "must be one of key, owner",
		"colour=red":                    "is unknown; there are q, owner",
		"q=a&q=b":                       "must be given once",
		"q=%zz":                         "percent-encoded",
		"q=%ff":                         "must be UTF-8",
		"done=explode":                  "must be drain or revoke",
		"q=" + strings.Repeat("x", 513): "of at most 512 bytes",
		strings.Repeat("x", 9000):       "must be at most 8192 bytes",
	} {
		w := get(p, "/?"+query)
		assert.Equal(t, 400, w.Code, query)
		has(t, w.Body.String(), want)
		w = get(p, "/?"+query, "Accept", "application/json")
		assert.Equal(t, 400, w.Code)
		has(t, w.Body.String(), `{"error":"tenure: invalid `)
		assert.Equal(t, 400, get(p, "/events?"+query).Code)
	}
}

func post(p http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	p.ServeHTTP(w, r)
	return w
}

func TestActions(t *testing.T) {
	store := written(t, 2, 4)
	var asked []Action
	var refuse error
	p := open9(t, store, Config{Authorize: func(_ *http.Request, a Action) error {
		asked = append(asked, a)
		return refuse
	}})
	id := instance.ID("host-0:1:abcdef00")
	draining := func() bool {
		v, err := store.Members(t.Context())
		require.NoError(t, err)
		m, _ := v.Find(id)
		return m.Draining
	}
	form := url.Values{"instance": {string(id)}}.Encode()

	// Refused, and nothing is done.
	assert.Equal(t, 403, post(open9(t, store, Config{}), "/drain", form).Code, "read-only")
	assert.Equal(t, 403, post(p, "/drain", form, "Sec-Fetch-Site", "cross-site").Code)
	assert.Equal(t, 403, post(p, "/drain", form, "Origin", "https://evil.example").Code)
	assert.Equal(t, 400, post(p, "/drain", "").Code)
	assert.Equal(t, 400, post(p, "/drain", "instance=%zz").Code)
	assert.Equal(t, 400, post(p, "/drain", "instance="+strings.Repeat("x", 600)).Code)
	assert.Equal(t, 400, post(p, "/drain", "x="+strings.Repeat("x", 20_000)).Code)
	assert.Empty(t, asked)
	refuse = errors.New("only operators may")
	w := post(p, "/drain", form)
	assert.Equal(t, 403, w.Code)
	has(t, w.Body.String(), "only operators may")
	assert.Equal(t, []Action{{Kind: ActionDrain, Instance: id}}, asked)
	refuse = nil
	assert.Equal(t, 404, post(p, "/drain", "instance=nobody").Code)
	assert.Equal(t, 404, post(p, "/revoke", "key=nothing").Code)
	assert.False(t, draining())

	// Done.
	w = post(p, "/fleet/drain", form, "Sec-Fetch-Site", "same-origin")
	assert.Equal(t, 303, w.Code)
	assert.True(t, draining())
	to := w.Header().Get("Location")
	assert.Equal(t, "./?about=host-0%3A1%3Aabcdef00&done=drain", to)
	html := get(p, "/fleet/"+to[2:]).Body.String()
	has(t, html, "host-0:1:abcd was told to drain.")
	has(t, html, "host-0:1:abcd is draining: 2 workloads still to hand over.")
	assert.Equal(t, []string{"host-0:1:abcd was told to drain on this page"}, told(twin(t, p, ""), EventAction))

	w = post(p, "/revoke", "key=tenant/00001", "Accept", "application/json")
	assert.Equal(t, 200, w.Code)
	assert.JSONEq(t, `{"done":"revoke"}`, w.Body.String())
	assert.Equal(t, []ActionKind{ActionDrain, ActionRevoke}, twin(t, p, "").Actions)
	has(t, post(p, "/revoke", "key=tenant/00003").Header().Get("Location"), "w=tenant")
}

func TestActionOnAStoreThatFails(t *testing.T) {
	store := written(t, 1, 1)
	p := open9(t, store, Config{Authorize: func(*http.Request, Action) error { return nil }})
	get(p, "/")
	require.NoError(t, store.Close())
	w := post(p, "/revoke", "key=tenant/00000", "Accept", "application/json")
	assert.Equal(t, 502, w.Code)
	has(t, w.Body.String(), "closed")
}
