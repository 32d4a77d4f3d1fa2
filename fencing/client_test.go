package fencing_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tenure-go/tenure/fencing"
	"github.com/tenure-go/tenure/lease"
)

type fakeTerm struct{ over bool }

func (f *fakeTerm) Lease() lease.Lease { return lease.Lease{Key: "tenant 17/ä", Token: 42} }
func (f *fakeTerm) Valid() bool        { return !f.over }

// closes tells whether it was closed.
type closes struct {
	*strings.Reader
	closed bool
}

func (c *closes) Close() error { c.closed = true; return nil }

func TestTransport(t *testing.T) {
	server := httptest.NewServer(require(t, echo, new(fencing.Memory), fencing.Config{}))
	defer server.Close()
	term := &fakeTerm{}
	client := &http.Client{Transport: fencing.Transport(term, nil)}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if resp.StatusCode != http.StatusOK || fencing.Refused(resp) != nil {
		t.Error(resp.Status)
	}
	if r.Header.Get(fencing.Header) != "" {
		t.Error("the caller's request was changed")
	}
	term.over = true
	body := &closes{Reader: strings.NewReader("x")}
	r, err = http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, body)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := client.Do(r); !errors.Is(err, lease.ErrLost) || !body.closed {
		if err == nil {
			resp.Body.Close()
		}
		t.Error(err, body.closed)
	}
}

func TestRefused(t *testing.T) {
	refused := func(code int, header string) error {
		sent := httptest.NewRequest(http.MethodPut, "/", nil)
		sent.Header.Set(fencing.Header, token("k", 3))
		a := &http.Response{StatusCode: code, Header: http.Header{}, Request: sent, Body: http.NoBody}
		if header != "" {
			a.Header.Set(fencing.Header, header)
		}
		return fencing.Refused(a)
	}
	var stale *fencing.StaleError
	if err := refused(412, token("k", 9)); !errors.As(err, &stale) || stale.Token.Value != 3 || stale.Highest != 9 || stale.Overtaken {
		t.Error(err)
	}
	if err := refused(409, token("k", 9)); !errors.As(err, &stale) || !stale.Overtaken {
		t.Error(err)
	}
	for _, err := range []error{refused(412, ""), refused(409, "nonsense"), refused(500, token("k", 9)), refused(200, "")} {
		if err != nil {
			t.Error(err)
		}
	}
}
