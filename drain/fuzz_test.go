package drain_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/tenure-go/tenure/drain"
)

// FuzzHandler sends anything to the handler. Whatever comes, it answers in its JSON, and it drains only for a
// request that it may drain for.
func FuzzHandler(f *testing.F) {
	for _, method := range []string{"GET", "POST", "HEAD", "PUT", ""} {
		f.Add(method, "secret", "Bearer secret", "", "", true)
		f.Add(method, "", "", "same-origin", "", false)
		f.Add(method, "secret", "bearer  secret", "cross-site", "https://evil.example", true)
		f.Add(method, "secret", "Bearer", "none", "null", true)
	}
	f.Add("POST", "é", "Bearer é", "", "http://pod.example", false)
	f.Fuzz(func(t *testing.T, method, token, authorization, site, origin string, internal bool) {
		s := newSubject(nil)
		d := newDrainer(t, drain.Config{}, s)
		h, err := d.Handler(drain.HandlerConfig{Internal: internal, Token: token})
		if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) != (err != nil) {
			t.Fatalf("token %q: error %v", token, err)
		}
		if err != nil {
			return
		}
		r := &http.Request{Method: method, URL: &url.URL{Path: "/drain"}, Host: "pod.example", Header: http.Header{}, Body: http.NoBody}
		for name, value := range map[string]string{"Authorization": authorization, "Sec-Fetch-Site": site, "Origin": origin} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r.WithContext(t.Context()))
		var a drain.Answer
		if err := json.Unmarshal(w.Body.Bytes(), &a); err != nil || a.Drained == nil || a.Running == nil {
			t.Fatalf("answer %q: %v", w.Body, err)
		}
		allowed := method == http.MethodPost || method == http.MethodGet && internal
		if token != "" {
			scheme, sent, _ := strings.Cut(authorization, " ")
			allowed = allowed && strings.EqualFold(scheme, "bearer") && sent == token
		}
		if site == "cross-site" || site == "same-site" {
			allowed = false
		}
		drained := s.times() > 0
		switch {
		case drained && !allowed:
			t.Errorf("%s with %q, %q, %q began a drain: %+v", method, authorization, site, origin, a)
		case drained != (w.Code == http.StatusOK) || drained != (a.State == "drained") || drained == (a.Error != ""):
			t.Errorf("drained %v, and the answer is %d %+v", drained, w.Code, a)
		case !drained && w.Code/100 != 4:
			t.Errorf("refused with %d", w.Code)
		}
	})
}
