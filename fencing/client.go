package fencing

import (
	"fmt"
	"net/http"

	"github.com/tenure-go/tenure/lease"
)

// Term is what a client knows of its ownership; *runner.Term and *lease.Hold are such terms.
type Term interface {
	Lease() lease.Lease
	Valid() bool
}

// Transport returns a transport that adds the term's token to every request that goes through base, which is
// http.DefaultTransport where it is nil. Once the term is not valid any more it sends nothing: the error then matches
// lease.ErrLost. It is safe for concurrent use, and for one term alone; make a client per term.
func Transport(term Term, base http.RoundTripper) http.RoundTripper {
	if base == nil {
		base = http.DefaultTransport
	}
	return &transport{term: term, base: base}
}

type transport struct {
	term Term
	base http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	l := t.term.Lease()
	if !t.term.Valid() {
		if r.Body != nil {
			_ = r.Body.Close() // a RoundTripper closes the body whatever happens
		}
		return nil, fmt.Errorf("fencing: request not sent: term over: %q token %d: %w", l.Key, l.Token, lease.ErrLost)
	}
	r = r.Clone(r.Context()) // a RoundTripper must not change the caller's request
	Set(r.Header, l)
	return t.base.RoundTrip(r)
}

// Refused returns a *StaleError where an answer says that the request's token was too old: 412, or 409 where it was
// overtaken, with the header that names the highest token seen. It returns nil for any other answer, and reads no body.
func Refused(answer *http.Response) error {
	if answer.StatusCode != http.StatusPreconditionFailed && answer.StatusCode != http.StatusConflict {
		return nil
	}
	highest, found, err := Read(answer.Header)
	if !found || err != nil {
		return nil //nolint:nilerr // somebody else's 412 or 409
	}
	e := &StaleError{Token: Token{Key: highest.Key}, Highest: highest.Value, Overtaken: answer.StatusCode == http.StatusConflict}
	if answer.Request != nil {
		if sent, found, err := Read(answer.Request.Header); found && err == nil {
			e.Token = sent
		}
	}
	return e
}
