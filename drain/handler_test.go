package drain_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tenure-go/tenure/drain"
	"github.com/tenure-go/tenure/lease"
)

func handler(t *testing.T, d *drain.Drainer, cfg drain.HandlerConfig) http.Handler {
	t.Helper()
	h, err := d.Handler(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func request(t *testing.T, method string, header ...string) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, "http://pod.example/drain", nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	return r
}

func serve(t *testing.T, h http.Handler, r *http.Request) (*httptest.ResponseRecorder, drain.Answer) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	var a drain.Answer
	if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	if w.Header().Get("Content-Type") != "application/json" || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("headers are %v", w.Header())
	}
	return w, a
}

func TestHandlerBlocksUntilDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrainer(t, drain.Config{}, newSubject(map[string]time.Duration{"x": 9 * time.Second, "y": time.Second}))
		h := handler(t, d, drain.HandlerConfig{Internal: true})
		start := time.Now()
		var all sync.WaitGroup
		for i, method := range []string{http.MethodGet, http.MethodPost, http.MethodGet} { // duplicates join
			all.Go(func() {
				time.Sleep(time.Duration(i) * time.Second)
				w, a := serve(t, h, request(t, method))
				equal(t, "the time of the answer", time.Since(start), 9*time.Second)
				equal(t, "the code", w.Code, http.StatusOK)
				equal(t, "the state", a.State, "drained")
				equal(t, "the elapsed seconds", a.ElapsedSeconds, 9)
				sameKeys(t, "the drained", a.Drained, "x", "y")
				if a.Running == nil || len(a.Running) > 0 || a.Error != "" {
					t.Errorf("answer is %+v", a)
				}
			})
		}
		all.Wait()
		serve(t, h, request(t, http.MethodPost)) // a late one is answered at once
		equal(t, "the time of the late answer", time.Since(start), 9*time.Second)
	})
}

func TestHandlerTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSubject(map[string]time.Duration{"slow": time.Hour, "y": time.Second})
		s.mark = func(context.Context) error { return lease.ErrUnavailable }
		d := newDrainer(t, drain.Config{Timeout: 20 * time.Second}, s)
		w, a := serve(t, handler(t, d, drain.HandlerConfig{}), request(t, http.MethodPost))
		equal(t, "the code", w.Code, http.StatusGatewayTimeout)
		equal(t, "the state", a.State, "draining")
		sameKeys(t, "the drained", a.Drained, "y")
		sameKeys(t, "the running", a.Running, "slow")
		if !strings.Contains(a.Error, "unavailable") {
			t.Fatalf("answer is %+v", a)
		}
		time.Sleep(2 * time.Hour)
	})
}

// A request may wait for less than the drain's own timeout, and hears what runs as well. It may not wait for longer.
func TestHandlerWaitsForAsLongAsTheRequestSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrainer(t, drain.Config{Timeout: 20 * time.Second}, newSubject(map[string]time.Duration{"slow": time.Hour}))
		h := handler(t, d, drain.HandlerConfig{})
		for _, c := range []struct {
			query string
			wait  time.Duration
		}{{"?timeout=3s", 3 * time.Second}, {"?timeout=1h", 20 * time.Second}, {"?timeout=", 20 * time.Second}} {
			r, begin := request(t, http.MethodPost), time.Now()
			r.URL.RawQuery = strings.TrimPrefix(c.query, "?")
			w, a := serve(t, h, r)
			equal(t, c.query+": the code", w.Code, http.StatusGatewayTimeout)
			equal(t, c.query+": the state", a.State, "draining")
			sameKeys(t, c.query+": the running", a.Running, "slow")
			equal(t, c.query+": the wait", time.Since(begin), c.wait)
		}
		time.Sleep(2 * time.Hour)
	})
}

// A wait that is none is refused before anything is done.
func TestHandlerRefusesWaitsThatAreNone(t *testing.T) {
	for _, query := range []string{"timeout=soon", "timeout=20", "timeout=0s", "timeout=-1s"} {
		synctest.Test(t, func(t *testing.T) {
			s := newSubject(map[string]time.Duration{"x": time.Second})
			r := request(t, http.MethodPost)
			r.URL.RawQuery = query
			w, a := serve(t, handler(t, newDrainer(t, drain.Config{}, s), drain.HandlerConfig{}), r)
			equal(t, query+": the code", w.Code, http.StatusBadRequest)
			if a.State != "refused" || !strings.Contains(a.Error, "such as 20s") {
				t.Errorf("%s: %+v", query, a)
			}
			synctest.Wait()
			equal(t, "told", s.times(), 0)
		})
	}
}

func TestHandlerRefuses(t *testing.T) {
	for _, c := range []struct {
		name     string
		cfg      drain.HandlerConfig
		method   string
		header   []string
		code     int
		response []string
	}{
		{"GET on a public mux", drain.HandlerConfig{}, "GET", nil, 405, []string{"Allow", "POST"}},
		{"HEAD", drain.HandlerConfig{}, "HEAD", nil, 405, []string{"Allow", "POST"}},
		{"PUT on an internal mux", drain.HandlerConfig{Internal: true}, "PUT", nil, 405, []string{"Allow", "GET, POST"}},
		{"no token", drain.HandlerConfig{Token: "s3cret"}, "POST", nil, 401, []string{"WWW-Authenticate", "Bearer"}},
		{"no token, and a wrong method", drain.HandlerConfig{Token: "s3cret"}, "GET", nil, 401, nil},
		{"another scheme", drain.HandlerConfig{Token: "s3cret"}, "POST", []string{"Authorization", "Basic s3cret"}, 401, nil},
		{"an empty token", drain.HandlerConfig{Token: "s3cret"}, "POST", []string{"Authorization", "Bearer "}, 401, nil},
		{"a wrong token", drain.HandlerConfig{Token: "s3cret"}, "POST", []string{"Authorization", "Bearer s3cre"}, 403, nil},
		{"a longer token", drain.HandlerConfig{Token: "s3cret"}, "POST", []string{"Authorization", "Bearer s3cret1"}, 403, nil},
		{"another site's page", drain.HandlerConfig{}, "POST", []string{"Sec-Fetch-Site", "cross-site"}, 403, nil},
		{"another site's form", drain.HandlerConfig{}, "POST", []string{"Origin", "https://evil.example"}, 403, nil},
		{"another site's image", drain.HandlerConfig{Internal: true}, "GET", []string{"Sec-Fetch-Site", "cross-site"}, 403, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newSubject(map[string]time.Duration{"x": time.Second})
				w, a := serve(t, handler(t, newDrainer(t, drain.Config{}, s), c.cfg), request(t, c.method, c.header...))
				equal(t, "the code", w.Code, c.code)
				if a.State != "refused" || a.Error == "" || strings.Contains(a.Error, "s3cret") {
					t.Fatalf("answer is %+v", a)
				}
				for i := 0; i < len(c.response); i += 2 {
					equal(t, c.response[i], w.Header().Get(c.response[i]), c.response[i+1])
				}
				synctest.Wait()
				equal(t, "told", s.times(), 0)
			})
		})
	}
}

func TestHandlerAcceptsTheToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := handler(t, newDrainer(t, drain.Config{}, newSubject(nil)), drain.HandlerConfig{Token: "s3cret"})
		for _, scheme := range []string{"Bearer", "bearer"} {
			w, _ := serve(t, h, request(t, http.MethodPost, "Authorization", scheme+" s3cret"))
			equal(t, "the code", w.Code, http.StatusOK)
		}
	})
	d := newDrainer(t, drain.Config{}, newSubject(nil))
	for _, token := range []string{"from a file\n", "s3cret\n", " ", "é"} {
		if _, err := d.Handler(drain.HandlerConfig{Token: token}); !errors.Is(err, lease.ErrInvalid) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("token %q: error is %v", token, err)
		}
	}
}

func TestClientGoesAwayAndTheDrainGoesOn(t *testing.T) {
	for _, after := range []time.Duration{0, time.Second} { // 0: before the handler is reached
		synctest.Test(t, func(t *testing.T) {
			d := newDrainer(t, drain.Config{}, newSubject(map[string]time.Duration{"x": 10 * time.Second}))
			h := handler(t, d, drain.HandlerConfig{})
			ctx, cancel := context.WithTimeout(t.Context(), after)
			defer cancel()
			start := time.Now()
			w := httptest.NewRecorder()
			h.ServeHTTP(w, request(t, http.MethodPost).WithContext(ctx))
			equal(t, "the time it took", time.Since(start), after)
			equal(t, "the code, should it reach anybody", w.Code, http.StatusServiceUnavailable)
			time.Sleep(11 * time.Second)
			equal(t, "drained", d.Progress().Drained, true)
		})
	}
}

// pipes is a listener of in-memory connections, so that a whole server obeys virtual time.
type pipes struct{ conns chan net.Conn }

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.IPAddr{} }

// A server's timeouts are for ordinary requests; a drain outlasts them.
func TestHandlerLiftsTheServersTimeouts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDrainer(t, drain.Config{}, newSubject(map[string]time.Duration{"x": 50 * time.Second}))
		l := pipes{make(chan net.Conn)}
		server := &http.Server{Handler: handler(t, d, drain.HandlerConfig{}), ReadTimeout: 5 * time.Second, WriteTimeout: 5 * time.Second}
		go server.Serve(l) //nolint:errcheck // it ends with Close, and says so
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			l.conns <- theirs
			return ours, nil
		}}
		start := time.Now()
		resp, err := (&http.Client{Transport: transport}).Post("http://pod.example/drain", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		equal(t, "the code", resp.StatusCode, http.StatusOK)
		equal(t, "the time it took", time.Since(start), 50*time.Second)
		transport.CloseIdleConnections()
		close(l.conns)
		server.Close()
	})
}
