package lab

import (
	"testing"
	"testing/synctest"
)

// VirtualMain runs f in a bubble where time is virtual (an hour of waiting takes as long as the work in it)
// and ends the process. The package testing has bubbles for tests alone, so f becomes the only test of a
// process; what it found it has to write by itself.
func VirtualMain(f func() error) {
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "virtual", F: func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			if err := f(); err != nil {
				t.Fatal(err)
			}
		})
	}}}, nil, nil)
}
