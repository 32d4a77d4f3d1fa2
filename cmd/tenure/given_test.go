package main

import (
	"strings"
	"testing"
)

// given is a command line that is refused with status 2 in one line, before the store is spoken to.
type given struct {
	args string   // split at spaces; URL stands for the store, "" for an empty word, LONG for a long one, BYTES for no UTF-8
	env  string   // a variable of the environment
	want []string // what the line contains
	not  string   // what it does not
}

// What is given empty, twice, without an effect, or out of its range is refused rather than guessed, and told by its own name.
func TestWhatIsGiven(t *testing.T) {
	t.Parallel()
	url, calls := counter(t)
	long := strings.Repeat("x", 600)
	for _, c := range append(givenNeedlessly(), givenWrong(long)...) {
		t.Run(c.env+" "+c.args, func(t *testing.T) {
			t.Parallel()
			var args []string
			for a := range strings.SplitSeq(c.args, " ") {
				args = append(args, strings.NewReplacer("URL", url, `""`, "", "LONG", long, "BYTES", "\xff\xfe").Replace(a))
			}
			c.check(t, args)
		})
	}
	t.Cleanup(func() {
		if n := calls.Load(); n != 0 {
			t.Errorf("the store was spoken to %d times", n)
		}
	})
}

func (c given) check(t *testing.T, args []string) {
	t.Helper()
	var env []string
	if c.env != "" {
		env = append(env, c.env)
	}
	p := start(t, "", env, args...)
	status, out, said := p.wait(), p.out.String(), p.err.String()
	if status != 2 || out != "" || strings.Count(said, "\n") != 1 || !strings.HasPrefix(said, "tenure: ") {
		t.Errorf("status %d, expected 2 and one line: %q %q", status, out, said)
	}
	for _, want := range c.want {
		if !strings.Contains(said, want) {
			t.Errorf("%q does not say %q", said, want)
		}
	}
	if c.not != "" && strings.Contains(said, c.not) {
		t.Errorf("%q says %q", said, c.not)
	}
}

// An ID that nobody has is told shortened as well.
func TestALongInstance(t *testing.T) {
	t.Parallel()
	flags := fleetIn(t, privateRedis(t), "f")
	long := strings.Repeat("x", 600)
	status, _, said := command(append([]string{"drain", "--instance", long}, flags...)...)
	if status != 2 || strings.Contains(said, long) || !strings.Contains(said, "(600 bytes)") {
		t.Errorf("%d %q", status, said)
	}
}

// givenNeedlessly is what is empty, twice or without an effect.
func givenNeedlessly() []given {
	return []given{
		{args: `run --store URL --key "" -- true`, want: []string{`--key ""`, "--key nightly"}, not: "leave it out"},
		{args: `drain --store URL --instance ""`, want: []string{`--instance ""`, "tenure status"}, not: "leave it out"},
		{args: `drain --url ""`, want: []string{`--url ""`, "http://"}, not: "leave it out"},
		{args: `drain --url http://h/ --token-file ""`, want: []string{`--token-file ""`, "TENURE_DRAIN_TOKEN"}, not: "default"},
		{args: `status --store ""`, want: []string{`--store ""`, "TENURE_STORE"}, not: "default"},
		{args: `status --store URL --fleet ""`, want: []string{`--fleet ""`, "leave it out for the default"}},
		{args: `run --store URL --key k --name "" -- true`, want: []string{`--name ""`, "for the key"}},

		{args: `revoke "" --store URL`, want: []string{`key ""`, "must not be empty"}, not: "--yes"},

		{args: "verify --store URL --prefix p", want: []string{"--prefix", "no effect", "scratch", "leave it out"}},
		{args: "verify --store URL --fleet f", want: []string{"--fleet", "no effect", "scratch"}},
		{args: "--fleet f verify --store URL", want: []string{"--fleet", "no effect", "scratch"}},
		{args: "drain --url http://h/ --fleet f", want: []string{"--fleet", "no effect", "--url"}},
		{args: "drain --url http://h/ --store URL", want: []string{"--store", "no effect", "--url"}},
		{args: "drain --url http://h/ --prefix p", want: []string{"--prefix", "no effect", "--url"}},
		{args: "drain --url http://h/ --schema s", want: []string{"--schema", "no effect", "--url"}},
		{args: "migrate --print --prefix p", want: []string{"--prefix", "no effect", "--print"}},
		{args: "healthcheck http://h/ --fleet f", want: []string{"--fleet", "no effect"}},
		{args: "version --store URL", want: []string{"--store", "no effect"}},

		{args: "status --store URL --store URL", want: []string{"--store is given 2 times", "once"}, not: "redis:"},
		{args: "--store URL status --store URL", want: []string{"--store is given 2 times", "once"}},
		{args: "run --store URL --key a --key b -- true", want: []string{"--key is given 2 times", "once"}},
		{args: "status --store URL --timeout 1s --timeout=2s", want: []string{"--timeout is given 2 times"}},
	}
}

// givenWrong is what the environment leaves empty, and values that are too large or too long.
func givenWrong(long string) []given {
	return []given{
		{args: "status --store URL", env: "TENURE_FLEET=", want: []string{"TENURE_FLEET", "must not be empty", "unset it"}},
		{args: "status", env: "TENURE_STORE=", want: []string{"TENURE_STORE", "must not be empty", "unset it"}},
		{args: "drain --url http://h/", env: "TENURE_DRAIN_TOKEN=", want: []string{"TENURE_DRAIN_TOKEN", "must not be empty", "unset it"}},

		{args: "status --store URL --max-ttl 99999999999h", want: []string{"--max-ttl", "between 1ms and 24h"}, not: "its unit"},
		{args: "status --store URL --timeout 99999999999h", want: []string{"--timeout", "out of range", "2562047h"}, not: "its unit"},
		{args: "verify --store URL --seed 99999999999999999999999", want: []string{"--seed", "out of range", "18446744073709551615"}},
		{args: "verify --store URL --lanes 99999999999999999999999", want: []string{"--lanes", "out of range"}},
		{args: "verify --store URL --seed -99999999999999999999999", want: []string{"--seed", "from 0 up"}},

		{args: "migrate --print --schema BYTES", want: []string{`--schema "\xff\xfe"`, "UTF-8"}, not: "Config"},
		{args: "migrate --store postgres://127.0.0.1:1/d --schema BYTES", want: []string{`--schema "\xff\xfe"`, "UTF-8"}, not: "Config"},
		{args: "migrate --print --schema LONG", want: []string{"--schema", "(600 bytes)", "63 bytes"}, not: long},
		{args: "status --store postgres://127.0.0.1:1/d --schema LONG", want: []string{"--schema", "(600 bytes)", "63 bytes"}, not: long},
		{args: "run --store URL --key k --name LONG -- true", want: []string{"--name", "(600 bytes)", "512 bytes"}, not: long},
		{args: "run --store URL --key k --drain-signal LONG -- true", want: []string{"--drain-signal", "(600 bytes)"}, not: long},
		{args: "status --store URL --timeout LONG", want: []string{"--timeout", "(600 bytes)"}, not: long},
		{args: "status LONG --store URL", want: []string{"unexpected argument", "(600 bytes)"}, not: long},
	}
}
