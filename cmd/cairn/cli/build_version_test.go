package cli

import (
	"runtime/debug"
	"testing"
)

// TestVersionNamesCommitAndDate: what was built can be looked up, and a build without a commit says no more than it knows.
func TestVersionNamesCommitAndDate(t *testing.T) {
	setting := func(key, value string) debug.BuildSetting { return debug.BuildSetting{Key: key, Value: value} }
	commit := []debug.BuildSetting{setting("vcs.revision", "0123456789abcdef"), setting("vcs.time", "2026-01-31T12:00:00Z")}
	for want, info := range map[string]*debug.BuildInfo{
		"cairn v1.2.3  commit 0123456789ab of 2026-01-31T12:00:00Z  go  host":             {Main: debug.Module{Version: "v1.2.3"}, Settings: commit},
		"cairn devel-0123456789ab  commit 0123456789ab of 2026-01-31T12:00:00Z  go  host": {Main: debug.Module{Version: "(devel)"}, Settings: commit},
		"cairn devel-0123456789ab-dirty  commit 0123456789ab of 2026-01-31T12:00:00Z  with uncommitted changes  go  host": {
			Settings: append(commit[:2:2], setting("vcs.modified", "true"))},
		"cairn devel  go  host": {},
	} {
		b := Build{Go: "go", Host: "host"}
		b.read(info)
		if b.String() != want {
			t.Errorf("got  %s\nwant %s", b, want)
		}
	}
}
