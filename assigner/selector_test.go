package assigner_test

import (
	"strings"
	"testing"

	"github.com/tenure-go/tenure/assigner"
)

func TestSelectorMatches(t *testing.T) {
	in := assigner.Instance{ID: "a", Zone: "west", Labels: map[string]string{"gpu": "", "disk": "ssd", "tier": "prod"}}
	for selector, want := range map[assigner.Selector]bool{
		"":                                   true,
		"  ":                                 true,
		"gpu":                                true,
		"!gpu":                               false,
		"! spot":                             true,
		"spot":                               false,
		"disk=ssd":                           true,
		"disk == ssd":                        true,
		"disk=hdd":                           false,
		"disk!=hdd":                          true,
		"disk!=ssd":                          false,
		"spot!=yes":                          true,
		"gpu=":                               true,
		"disk=":                              false,
		"disk in (nvme, ssd)":                true,
		"disk in (nvme)":                     false,
		"disk notin (nvme,hdd)":              true,
		"disk  notin  (ssd)":                 false,
		"spot notin (yes)":                   true,
		"spot in (yes)":                      false,
		"gpu, disk in (ssd,nvme) ,tier=prod": true,
		"gpu,disk=hdd":                       false,
		"tenure/zone=west":                   true,
		"tenure/zone in (east)":              false,
		"!tenure/version":                    true,
	} {
		if err := selector.Check(); err != nil {
			t.Errorf("%q: %v", selector, err)
		}
		if got := selector.Matches(in); got != want {
			t.Errorf("%q matches: %v, want %v", selector, got, want)
		}
	}
}

func TestSelectorRefusesNonsense(t *testing.T) {
	for _, selector := range []assigner.Selector{
		",", "a,", ",a", "!", "=", "=a", "!=a", "a=b=c", "a b", "a in", "a in ()", "a in (b", "a in (b,)", "a in b", "in (a)",
		"a of (b)", "a in (b c)", "a in (b) c", "a(b)", ")", "a=(b)", "a in ((b))", "\xff", "a\x00", "!a=b",
		assigner.Selector(strings.Repeat("k", 513)), assigner.Selector("a=" + strings.Repeat("v", 513)),
	} {
		wantInvalid(t, selector.Check(), "selector")
		if selector.Matches(assigner.Instance{ID: "a", Labels: map[string]string{"a": "b"}}) {
			t.Errorf("%q matches although it is invalid", selector)
		}
	}
}

func FuzzSelector(f *testing.F) {
	for _, seed := range []string{"", "a", "!a", "a=b", "a!=b", "a in (b,c)", "a notin (b)", "a,b=c", "((", "a in (b"} {
		f.Add(seed)
	}
	plain := assigner.Instance{ID: "a"}
	f.Fuzz(func(t *testing.T, s string) {
		selector := assigner.Selector(s)
		if selector.Check() != nil {
			if selector.Matches(plain) {
				t.Fatalf("%q is invalid and matches", s)
			}
			return
		}
		if spaced := assigner.Selector(" " + strings.ReplaceAll(s, ",", " , ") + " "); spaced.Check() != nil || spaced.Matches(plain) != selector.Matches(plain) {
			t.Fatalf("%q means something else with spaces", s)
		}
		if twice := selector + "," + selector; strings.TrimSpace(s) != "" && twice.Matches(plain) != selector.Matches(plain) {
			t.Fatalf("%q means something else when it is said twice", s)
		}
	})
}
