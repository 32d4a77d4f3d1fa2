package redisstore

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/tenure-go/tenure/instance"
	"github.com/tenure-go/tenure/lease"
)

// Whatever stands in the server, reading it never fails hard, and what the scripts write reads back.
func FuzzRecord(f *testing.F) {
	f.Add(uint64(1), int64(2), "session", "owner")
	f.Add(uint64(1<<53), int64(0), "12 34", " 5 x")
	f.Add(uint64(7), int64(7), "", "")
	f.Fuzz(func(t *testing.T, token uint64, n int64, session, owner string) {
		token, n = token>>1, max(n, 0)
		text := fmt.Sprintf("%d %d %d %d %d %d %s%s", token, n, token, n, n, len(session), session, owner)
		r, ok := parseRecord(text)
		if want := (record{token, n, token, n, n, session, owner}); !ok || r != want {
			t.Fatalf("%q reads %+v, %v", text, r, ok)
		}
		for i := range min(len(text), 40) {
			parseRecord(text[:i])
			parseRecord(text[i:])
		}
	})
}

func FuzzStoredTexts(f *testing.F) {
	f.Add(`1796057900118412 d {"id":"a"}`)
	f.Add(`12 34 56 active 5 owner{"name":"n"}`)
	f.Add("1 2 3")
	f.Add("released key")
	f.Add("9223372036854775808 1 1 1 1 1 x")
	f.Fuzz(func(t *testing.T, text string) {
		if m, err := parseMember("a", text); err == nil && m.ID != "a" {
			t.Fatalf("%q reads as %+v", text, m)
		}
		if r, _, ok := parseStatus("k", text); ok && r.Key != "k" {
			t.Fatalf("%q reads as %+v", text, r)
		}
		parseSession(text)
		parseRecord(text)
		if c := parseHint(text); c.Kind == "" || c.Key != "" && c.Instance != "" {
			t.Fatalf("%q reads as %+v", text, c)
		}
	})
}

// An answer from a proxy, a fork or another version is an unknown outcome, never a panic or a grant.
func FuzzReplies(f *testing.F) {
	f.Add(`["ok","1","2","0","","granted","7","9"]`)
	f.Add(`["ok","1","2","0","",["s","1 2 3"],["k","1 2 3 4 5 1 so"]]`)
	f.Add(`["lapsed","1","2","0",""]`)
	f.Add(`[1,null,[]]`)
	f.Fuzz(func(t *testing.T, text string) {
		var r reply
		if json.Unmarshal([]byte(text), &r) != nil {
			return
		}
		h, err := r.head()
		if err == nil {
			rest := r[headLength:]
			var g lease.Grant
			if rest.grants(&g, lease.Session{}, []string{"k"}) == nil && len(g.Leases)+len(g.Refused) != 1 {
				t.Fatalf("one key, and %+v", g)
			}
			_, _ = rest.held(h)
			_, _ = rest.integer(0)
		}
		_, _ = r.beat("a", 0)
		_, _ = r.members(1, 0)
		_, _ = r.statuses()
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
		m, err := parseMember(i.ID, "-62135596800000000 "+marks+" "+string(description))
		if err != nil || !m.Equal(i) || m.Draining != strings.Contains(marks, "d") || m.Leaving != strings.Contains(marks, "l") {
			t.Errorf("marks %q read as %+v, %v", marks, m, err)
		}
	}
}
