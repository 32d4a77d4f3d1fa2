package fencing

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tenure-go/tenure/internal/fault"
	"github.com/tenure-go/tenure/lease"
)

// Header is the request header that carries the token, and the answer's header that tells the highest one seen
// where a request was refused. Its value is the token in decimal, then ";key=" and the key, percent-encoded as
// in a URL's path segment:
//
//	Fencing-Token: 1764543210123456;key=tenant-17
const Header = "Fencing-Token"

// Token is what one term may write with: tokens of one key only ever grow.
type Token struct {
	// Key is the workload that the term owns: 1 to 512 bytes of UTF-8 without NUL.
	Key string
	// Value is the fencing token, 1 or more.
	Value uint64
}

// Of returns the token of a lease.
func Of(l lease.Lease) Token { return Token{Key: l.Key, Value: l.Token} }

// String returns the header's value.
func (t Token) String() string {
	return strconv.FormatUint(t.Value, 10) + ";key=" + url.PathEscape(t.Key)
}

// Parse reads a header's value. It takes exactly what String returns: one token has one spelling. Errors match
// lease.ErrInvalid.
func Parse(value string) (Token, error) {
	bad := func(remedy string) (Token, error) { return Token{}, fault.Invalid(Header, value, remedy) }
	digits, escaped, ok := strings.Cut(value, ";key=")
	if !ok {
		return bad(`must look like "TOKEN;key=KEY"`)
	}
	v, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || v == 0 || digits[0] == '0' || digits[0] == '+' {
		return bad("the token must be a decimal number between 1 and 2^64-1 without leading zeros")
	}
	key, err := url.PathUnescape(escaped)
	if err != nil || !utf8.ValidString(key) {
		return bad("the key must be UTF-8, percent-encoded as a path segment of a URL")
	}
	if err := lease.CheckKey(key); err != nil {
		return Token{}, fmt.Errorf("%s: %w", Header, err)
	}
	t := Token{Key: key, Value: v}
	if t.String() != value {
		return bad(fmt.Sprintf("spell it %q", t))
	}
	return t, nil
}

// Set puts the lease's token into a request's header.
func Set(h http.Header, l lease.Lease) { h.Set(Header, Of(l).String()) }

// Read returns the token in a request's header. found is false where there is none. Errors match lease.ErrInvalid;
// two headers are one too many.
func Read(h http.Header) (t Token, found bool, err error) {
	values := h.Values(Header)
	switch len(values) {
	case 0:
		return Token{}, false, nil
	case 1:
		t, err = Parse(values[0])
		return t, true, err
	}
	return Token{}, true, fault.Invalid(Header, strings.Join(values, ", "), "must be there once")
}
