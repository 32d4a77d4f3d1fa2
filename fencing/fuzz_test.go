package fencing_test

import (
	"errors"
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/tenure-go/tenure/fencing"
)

// What is read has one spelling, and what is written can be read.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"1;key=a", "18446744073709551615;key=a%2Fb", "18446744073709551616;key=a", "01;key=a", "+1;key=a", "1 ;key=a",
		"1;key=%00", "1;key=%C3%A4", "1;key=ä", "1;key=a;key=b", "1;key=%2f", "1;KEY=a", ";key=", "", "1;key=a%20b", "1_0;key=a",
	} {
		f.Add(s, uint64(1), "k")
	}
	f.Add("", uint64(1<<63), "tenant 17/ä;,\"\r\n%")
	f.Fuzz(func(t *testing.T, s string, value uint64, key string) {
		got, err := fencing.Parse(s)
		if err != nil && !errors.Is(err, fencing.ErrInvalid) {
			t.Errorf("%q: %v", s, err)
		}
		if err == nil && (got.String() != s || got.Value == 0 || got.Key == "" || !utf8.ValidString(got.Key)) {
			t.Errorf("%q reads as %+v, which is spelt %q", s, got, got)
		}
		sent := fencing.Token{Key: key, Value: value}
		back, err := fencing.Parse(sent.String())
		if err == nil && back != sent {
			t.Errorf("%+v came back as %+v", sent, back)
		}
		valid := value > 0 && key != "" && len(key) <= 512 && utf8.ValidString(key)
		for _, c := range key {
			valid = valid && c != 0
		}
		if valid != (err == nil) {
			t.Errorf("%+v: %v", sent, err)
		}
		if valid { // it survives a header, whatever the key holds
			h := http.Header{}
			h.Set(fencing.Header, sent.String())
			for _, b := range []byte(h.Get(fencing.Header)) {
				if b < ' ' || b > '~' {
					t.Errorf("%q cannot be sent in a header", h)
				}
			}
		}
	})
}
