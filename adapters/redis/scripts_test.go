package redisstore

import (
	"regexp"
	"strings"
	"testing"
)

var comment = regexp.MustCompile(`--[^\n]*`)

// code is a script without its comments.
func code(s *script) string { return comment.ReplaceAllString(s.plain.source, "") }

// Clusters, proxies and clients that add a prefix see only the keys that are declared: no script may
// name or build another one.
func TestScriptsUseDeclaredKeysOnly(t *testing.T) {
	call := regexp.MustCompile(`redis\.p?call\(\s*'(\w+)'\s*,\s*([^,)]+)`)
	literal := regexp.MustCompile(`^KEYS\[[1-4]\]$`)
	keyless := map[string]bool{"INFO": true, "PUBLISH": true}
	for _, s := range every() {
		t.Run(s.name, func(t *testing.T) {
			src := code(s)
			for _, m := range call.FindAllStringSubmatch(src, -1) {
				if !keyless[m[1]] && !literal.MatchString(strings.TrimSpace(m[2])) {
					t.Errorf("%s works on %s, want a literal KEYS[n]", m[1], m[2])
				}
			}
			if calls := strings.Count(src, "call('"); calls != len(call.FindAllString(src, -1))+strings.Count(src, "call('TIME')") {
				t.Error("a call is written in a way that this test does not see through")
			}
			if strings.Count(src, "KEYS[") != len(regexp.MustCompile(`KEYS\[[1-4]\]`).FindAllString(src, -1)) {
				t.Error("KEYS is indexed by something else than a literal")
			}
		})
	}
}

func TestScriptsKeepTheRules(t *testing.T) {
	for _, s := range every() {
		t.Run(s.name, func(t *testing.T) {
			src := code(s)
			if n := strings.Count(src, "'TIME'"); n != 1 {
				t.Errorf("the clock is read %d times", n)
			}
			if strings.Contains(src, "redis.call('PUBLISH'") || strings.Contains(src, "redis.call('INFO'") {
				t.Error("a right that the user may lack must not fail the script: use pcall")
			}
			for _, banned := range []string{"EXPIRE", "'EX'", "'PX'", "SETEX", "tostring(", "cjson", "cmsgpack", "loadstring"} {
				if strings.Contains(src, banned) {
					t.Errorf("%s has no place in a script", banned)
				}
			}
			if s.roomy.source != "" && !strings.HasPrefix(s.roomy.source, allowOOM) {
				t.Error("the leave to write must be the first line")
			}
			for line := range strings.Lines(src) {
				if regexp.MustCompile(`^\s*function `).MatchString(line) {
					t.Errorf("a global: %s", line)
				}
			}
		})
	}
}
