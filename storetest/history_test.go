package storetest

import (
	"strings"
	"testing"
	"time"
)

// The ops below read as "who did what when": times are in milliseconds.
func ms(n int) time.Duration { return time.Duration(n) * time.Millisecond }

func extend(s string, call, ret, ttl int) op {
	return op{kind: opExtend, session: s, ttl: ms(ttl), call: ms(call), ret: ms(ret)}
}

func on(kind opKind, s string, token uint64, call, ret int) op {
	return op{kind: kind, session: s, key: "k", token: token, call: ms(call), ret: ms(ret)}
}

func unknown(o op) op {
	o.unknown = true
	return o
}

func TestHistory(t *testing.T) {
	a := extend("a", 0, 2, 100) // alive until 100 to 102
	b := extend("b", 0, 2, 1000)
	first := on(opGrant, "a", 10, 3, 5)
	for name, c := range map[string]struct {
		ops  []op
		want string // part of the violation; empty: none
	}{
		"nothing":                                {},
		"one holder":                             {ops: []op{a, first, on(opVerify, "a", 10, 6, 7)}},
		"asked again, same token":                {ops: []op{a, first, on(opGrant, "a", 10, 6, 7)}},
		"asked again, another token":             {ops: []op{a, first, on(opGrant, "a", 11, 6, 7)}, want: "two owners"},
		"released and taken":                     {ops: []op{a, b, first, on(opRelease, "a", 10, 6, 7), on(opGrant, "b", 11, 8, 9)}},
		"taken during the release":               {ops: []op{a, b, first, on(opRelease, "a", 10, 6, 20), on(opGrant, "b", 11, 8, 9)}},
		"taken before the release was sent":      {ops: []op{a, b, first, on(opRelease, "a", 10, 10, 20), on(opGrant, "b", 11, 8, 9)}, want: "two owners"},
		"taken after an unknown release":         {ops: []op{a, b, first, unknown(on(opRelease, "a", 10, 6, 7)), on(opGrant, "b", 11, 50, 51)}},
		"released by another":                    {ops: []op{a, b, first, on(opRelease, "b", 10, 6, 7), on(opGrant, "b", 11, 8, 9)}, want: "two owners"},
		"another term released":                  {ops: []op{a, b, first, on(opRelease, "a", 9, 6, 7), on(opGrant, "b", 11, 8, 9)}, want: "two owners"},
		"closed and taken":                       {ops: []op{a, b, first, on(opClose, "a", 0, 6, 7), on(opGrant, "b", 11, 8, 9)}},
		"lapsed and taken":                       {ops: []op{a, b, first, on(opGrant, "b", 11, 99, 101)}},
		"taken before it lapsed":                 {ops: []op{a, b, first, on(opGrant, "b", 11, 90, 97)}, want: "two owners"},
		"taken though renewed":                   {ops: []op{a, b, first, extend("a", 50, 51, 100), on(opGrant, "b", 11, 101, 120)}, want: "two owners"},
		"taken, then renewed":                    {ops: []op{a, b, first, on(opGrant, "b", 11, 103, 104), extend("a", 105, 106, 100)}, want: "two owners"},
		"an unknown renewal holds nothing up":    {ops: []op{a, b, first, unknown(extend("a", 50, 51, 100)), on(opGrant, "b", 11, 101, 120)}},
		"the token fell":                         {ops: []op{a, b, first, on(opRelease, "a", 10, 6, 7), on(opGrant, "b", 9, 8, 9)}, want: "the token fell"},
		"one token for two":                      {ops: []op{a, b, first, on(opRelease, "a", 10, 6, 7), on(opGrant, "b", 10, 8, 9)}, want: "one token"},
		"verified after a later grant":           {ops: []op{a, b, first, on(opRelease, "a", 10, 6, 7), on(opGrant, "b", 11, 8, 9), on(opVerify, "a", 10, 10, 11)}, want: "after a later grant"},
		"verified beside a later grant":          {ops: []op{a, b, first, unknown(on(opRelease, "a", 10, 6, 7)), on(opGrant, "b", 11, 8, 12), on(opVerify, "a", 10, 10, 11)}},
		"verified after its release":             {ops: []op{a, first, on(opRelease, "a", 10, 6, 7), on(opVerify, "a", 10, 10, 11)}, want: "after its release"},
		"refused while held":                     {ops: []op{a, b, first, on(opRefuse, "b", 0, 6, 7)}},
		"refused before anyone had it":           {ops: []op{a, b, first, on(opRefuse, "b", 0, 1, 2)}, want: "nobody else"},
		"refused though never granted":           {ops: []op{b, on(opRefuse, "b", 0, 6, 7)}, want: "nobody else"},
		"refused by itself":                      {ops: []op{a, first, on(opRefuse, "a", 0, 6, 7)}, want: "nobody else"},
		"refused after the release":              {ops: []op{a, b, first, on(opRelease, "a", 10, 6, 7), on(opRefuse, "b", 0, 8, 9)}, want: "nobody else"},
		"refused after an unknown release":       {ops: []op{a, b, first, unknown(on(opRelease, "a", 10, 6, 7)), on(opRefuse, "b", 0, 8, 9)}},
		"refused long after the lapse":           {ops: []op{a, b, first, on(opRefuse, "b", 0, 108, 109)}, want: "nobody else"},
		"refused after a lapse was answered":     {ops: []op{a, b, first, on(opLapse, "a", 0, 6, 7), on(opRefuse, "b", 0, 8, 9)}, want: "nobody else"},
		"refused for an unknown grant":           {ops: []op{a, b, unknown(on(opGrant, "a", 0, 3, 5)), on(opRefuse, "b", 0, 8, 9)}},
		"refused, and the holder may be renewed": {ops: []op{a, b, first, unknown(extend("a", 50, 51, 100)), on(opRefuse, "b", 0, 140, 141)}},
		"renewed after a lapse was answered":     {ops: []op{a, on(opLapse, "a", 0, 6, 7), extend("a", 8, 9, 100)}, want: "came back"},
		"renewed beside a lapse":                 {ops: []op{a, on(opLapse, "a", 0, 6, 9), extend("a", 8, 10, 100)}},
		"granted after it was closed":            {ops: []op{a, on(opClose, "a", 0, 6, 7), on(opGrant, "a", 10, 8, 9)}, want: "came back"},
		"renewed after its end":                  {ops: []op{a, extend("a", 110, 111, 100)}, want: "extended after its end"},
		"granted after its end":                  {ops: []op{a, on(opGrant, "a", 10, 110, 111)}, want: "used after its end"},
		"granted after it may have been renewed": {ops: []op{a, unknown(extend("a", 50, 51, 100)), on(opGrant, "a", 10, 110, 111)}},
	} {
		t.Run(strings.ReplaceAll(name, " ", "_"), func(t *testing.T) {
			got := worst(violations(c.ops, ms(2)), 10)
			if c.want == "" && got != "" || !strings.Contains(got, c.want) {
				t.Errorf("violations: %s\nwant %q", got, c.want)
			}
		})
	}
}

func TestHistoryClockNeverRepeats(t *testing.T) {
	h := newHistory()
	last := h.now()
	for range 1000 {
		now := h.now()
		if now <= last {
			t.Fatalf("%v came after %v", now, last)
		}
		last = now
	}
}

func TestWorstCutsTheList(t *testing.T) {
	if got, want := worst([]string{"x", "y", "z"}, 2), "\n  x\n  y\n  and 1 more"; got != want {
		t.Errorf("worst says %q, want %q", got, want)
	}
}
