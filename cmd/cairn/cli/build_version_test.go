package cli

import (
	"os"
	"regexp"
	"runtime/debug"
	"slices"
	"testing"
)

// TestVersionNamesCommitAndDate: the version names the commit and its date; without a commit it omits them.
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

// TestReleaseIsNamedByItsTag: values set by the linker override Go's build information; blank ones do not.
func TestReleaseIsNamedByItsTag(t *testing.T) {
	release := Build{Version: "devel", Go: "go", Host: "host"}
	release.stamp("v0.1.0", "0123456789abcdef", "2026-01-31T12:00:00Z")
	if got, want := release.String(), "cairn v0.1.0  commit 0123456789ab of 2026-01-31T12:00:00Z  go  host"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	checkout := Build{Version: "devel-0123", Commit: "0123", Date: "d"}
	before := checkout
	if checkout.stamp("", "", ""); checkout != before {
		t.Errorf("stamped with nothing: %+v", checkout)
	}
}

// TestReleasesStampTheVersion: the release builds set existing variables of this package. The linker would silently
// ignore an unknown one.
func TestReleasesStampTheVersion(t *testing.T) {
	for _, path := range []string{"../../../.ci/release", "../../../deploy/Dockerfile"} {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		pkg := regexp.MustCompile(`cli=(\S+)`).FindStringSubmatch(string(b))
		var set []string
		for _, m := range regexp.MustCompile(`-X \$cli\.(\w+)=`).FindAllStringSubmatch(string(b), -1) {
			set = append(set, m[1])
		}
		if pkg == nil || pkg[1] != "github.com/cairndb/cairn/cmd/cairn/cli" || !slices.Equal(set, []string{"tag", "commit", "date"}) {
			t.Errorf("%s sets %v of %v", path, set, pkg)
		}
	}
}
