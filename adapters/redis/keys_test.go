package redisstore

import (
	"slices"
	"strings"
	"testing"
)

func TestKeysShareOneHashTag(t *testing.T) {
	for _, fleet := range []string{"billing", "a:b", "{}", "}", "{", "a}b{c", "%7B", "", "é", "\x1b[31m", strings.Repeat("x", 500)} {
		k := newKeyset("tenure", fleet)
		tag, ok := hashTag(k.marker)
		if !ok {
			t.Errorf("%q: %q has no hash tag", fleet, k.marker)
		}
		seen := map[string]bool{}
		for _, key := range slices.Concat(k.forLeases(), k.forMembers()[1:], k.forStatuses()[1:], k.forTargets()[1:], []string{k.channel}) {
			if other, _ := hashTag(key); other != tag || seen[key] {
				t.Errorf("%q: the key %q is out of line", fleet, key)
			}
			seen[key] = true
			if strings.ContainsFunc(key, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
				t.Errorf("%q: the key %q has control characters", fleet, key)
			}
		}
	}
	if got := newKeyset("tenure", "billing").leases; got != "{tenure:billing}:leases" {
		t.Errorf("a plain name is written as %q", got)
	}
}

// hashTag is how a cluster finds it: what stands between the first brace and the next closing one.
func hashTag(key string) (string, bool) {
	_, rest, found := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	return tag, found && closed && tag != ""
}

// Two fleets never share a key, however their names are made up.
func FuzzFleetsNeverCollide(f *testing.F) {
	f.Add("a:b", "c", "a", "b:c")
	f.Add("a", "b", "a", "b")
	f.Add("p", "%7D", "p", "}")
	f.Add("p", strings.Repeat("x", 129), "p", "%sha256-0")
	f.Add("p", strings.Repeat("é", 65), "p", strings.Repeat("é", 64))
	f.Fuzz(func(t *testing.T, p1, f1, p2, f2 string) {
		a, b := newKeyset(p1, f1), newKeyset(p2, f2)
		if same := p1 == p2 && f1 == f2; (a == b) != same {
			t.Fatalf("(%q, %q) has %q, (%q, %q) has %q", p1, f1, a.marker, p2, f2, b.marker)
		}
		if _, ok := hashTag(a.marker); !ok || len(a.marker) > 2*3*maxName+40 {
			t.Fatalf("(%q, %q) has %q", p1, f1, a.marker)
		}
	})
}
