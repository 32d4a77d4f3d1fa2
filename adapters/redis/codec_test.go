package redisstore

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
	"github.com/tenure-go/tenure/status"
)

// Whatever stands in the server, reading it never fails hard.
func FuzzStoredTexts(f *testing.F) {
	f.Add(`1796057900118412 10000000 d {"id":"a"}`)
	f.Add(`1796057900118412 d {"id":"a"}`)
	f.Add(`12 34 56 active 5 owner{"name":"n"}`)
	f.Add("1 2 3")
	f.Add("released key")
	f.Add("9223372036854775808 1 1 1 1 1 x")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseMember("a", text); err == nil && m.ID != "a" {
			t.Fatalf("%q reads as %+v", text, m)
		}
		if r, ok := parseStatus("k", text); ok && r.Key != "k" {
			t.Fatalf("%q reads as %+v", text, r)
		}
		if c := parseHint(text); c.Kind == "" || c.Key != "" && c.Instance != "" {
			t.Fatalf("%q reads as %+v", text, c)
		}
	})
}

// An answer from a proxy, a fork or another version is an unknown outcome, never a panic or a grant.
func FuzzReplies(f *testing.F) {
	f.Add(`["ok","1","2","0","","granted","7","9"]`)
	f.Add(`["ok","1","2","0","","0","k","1","2","s","o"]`)
	f.Add(`["lapsed","1","2","0",""]`)
	f.Add(`[1,null,[]]`)
	f.Fuzz(func(t *testing.T, text string) {
		var r reply
		if json.Unmarshal([]byte(text), &r) != nil {
			return
		}
		if _, err := r.head(); err == nil {
			rest := r[headLength:]
			var g lease.Grant
			if rest.grants(&g, lease.Session{}, []string{"k"}) == nil && len(g.Leases)+len(g.Refused) != 1 {
				t.Fatalf("one key, and %+v", g)
			}
			held := map[string]lease.Lease{}
			if _, err := rest.leases(held); err == nil && len(held) > len(rest)/5 {
				t.Fatalf("%d leases from %q", len(held), rest)
			}
			_, _ = rest.integer(0)
		}
		_, _ = r.beat("a", 0)
		_, _ = r.members(1, 0)
		_, _ = r.statuses(map[string]status.Record{})
		_, _, _ = r.clock()
	})
}

func TestMemberTextsReadBack(t *testing.T) {
	i := instance.Instance{ID: "a b", Zone: "z", Version: "v<1>&", Capacity: 3, Labels: map[string]string{"k\u2028": "v "}}
	description, err := json.Marshal(i)
	if err != nil || !utf8.Valid(description) {
		t.Fatal(err)
	}
	for _, marks := range []string{"-", "d", "l", "dl"} {
		m, err := parseMember(i.ID, "-62135596800000000 10000000 "+marks+" "+string(description))
		if err != nil || !m.Equal(i) || m.Draining != strings.Contains(marks, "d") || m.Leaving != strings.Contains(marks, "l") {
			t.Errorf("marks %q read as %+v, %v", marks, m, err)
		}
	}
}
