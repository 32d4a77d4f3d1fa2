package main

import (
	"io"
	"net/url"
	"strings"
	"testing"
)

// FuzzOptions: a command line is refused in one line, or makes options within their bounds.
func FuzzOptions(f *testing.F) {
	for _, line := range []string{
		"", "-pods 3", "-pods 0", "-pods -1", "-workloads 24", "-workloads", "-for 1s -chaos -json -seed 7", "-for -1s", "-chaos -rollout",
		"-lease-ttl 1ns", "-lease-ttl 3s", "-store redis://127.0.0.1:6379/0", "-store mysql://x", "-store ://", "-h", "--", "-", "extra", "-pods=99999999999999999999",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		if strings.Contains(line, "catalogue") {
			return // it would read whatever file is named
		}
		o, err := parseOptions(strings.Split(line, " "), io.Discard)
		switch {
		case err != nil && (err.Error() == "" || len(err.Error()) > len(line)*8+300):
			t.Errorf("%q is refused with %q", line, err)
		case err == nil && (o.pods < 1 || o.pods > mostPods || len(o.catalogue) < 1 || len(o.catalogue) > mostWorkloads || o.seed == 0 || o.runFor < 0 || o.timing.Outage() <= 0):
			t.Errorf("%q is accepted as %+v", line, o)
		}
	})
}

// FuzzStoreURL: an error never shows a password.
func FuzzStoreURL(f *testing.F) {
	for _, s := range []string{
		"redis://127.0.0.1:6379/0", "postgres://user:PASSWORD@h:5432/db?sslmode=disable", "mysql://u:PASSWORD@h", "redis://:PASSWORD@h", "://u:PASSWORD@h",
		"redis://u:PASSWORD@h:port", "postgres://u:PASSWORD@%zz", "\x7f://u:PASSWORD@h", "u:PASSWORD@h", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		err := checkStoreURL(text)
		if err == nil {
			if u, perr := url.Parse(text); perr != nil || u.Host == "" && u.Path == "" && u.Opaque == "" && u.User == nil && u.RawQuery == "" && u.Scheme == "" {
				t.Errorf("%q is accepted", text)
			}
			return
		}
		u, perr := url.Parse(text)
		if perr != nil || u.User == nil {
			return
		}
		if p, ok := u.User.Password(); ok && len(p) >= 6 && strings.Contains(err.Error(), p) && !strings.Contains(u.Redacted(), p) {
			t.Errorf("%q shows the password: %v", text, err)
		}
	})
}
