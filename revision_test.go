package tenure

import (
	"runtime/debug"
	"testing"
)

func TestRevisionTellsBuildsApart(t *testing.T) {
	built := func(version string, settings ...debug.BuildSetting) *debug.BuildInfo {
		return &debug.BuildInfo{Main: debug.Module{Version: version}, Settings: settings}
	}
	commit := debug.BuildSetting{Key: "vcs.revision", Value: "c0ffee"}
	for want, build := range map[string]*debug.BuildInfo{
		"c0ffee":          built("(devel)", commit, debug.BuildSetting{Key: "vcs.modified", Value: "false"}),
		"c0ffee+modified": built("v1.2.3", commit, debug.BuildSetting{Key: "vcs.modified", Value: "true"}),
		"v1.2.3":          built("v1.2.3"),
	} {
		if got := revision(build); got != want {
			t.Errorf("revision of %+v: %q, want %q", build, got, want)
		}
	}
	for _, build := range []*debug.BuildInfo{nil, built("(devel)"), built("")} {
		if got := revision(build); got != "" {
			t.Errorf("revision of %+v: %q, want none", build, got)
		}
	}
}
