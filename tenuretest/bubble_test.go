package tenuretest_test

import (
	"flag"
	"regexp"
	"testing"
	"testing/synctest"
)

// inTest runs the body of a test function from an example, in a bubble and as go test would: an
// example has no *testing.T. What fails shows in the example's output.
func inTest(body func(t *testing.T)) {
	// The flags are about the example: its test is not to be left out, and has nothing to say.
	for name, value := range map[string]string{"test.v": "false", "test.run": "", "test.skip": ""} {
		f := flag.Lookup(name).Value
		before := f.String()
		_ = f.Set(value)
		defer func() { _ = f.Set(before) }()
	}
	once := false // whatever -count says
	testing.RunTests(regexp.MatchString, []testing.InternalTest{{
		Name: "example",
		F: func(t *testing.T) {
			if !once {
				once = true
				synctest.Test(t, body)
			}
		},
	}})
}
