package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// Build describes the source and the platform of a binary.
type Build struct {
	Version string `json:"version"`          // the release tag, the module version, or "devel-" and the commit
	Commit  string `json:"commit,omitempty"` // blank for a build outside a checkout
	Date    string `json:"date,omitempty"`   // of the commit, RFC 3339
	Changed bool   `json:"changed"`          // the checkout had uncommitted changes
	Go      string `json:"go"`
	Host    string `json:"platform"`
}

// The linker sets these variables in a release (.ci/release, deploy/Dockerfile), which is built without a checkout.
// In other builds they are blank.
var tag, commit, date string

// ThisBuild describes this binary. Its date is that of the commit and not of the build, so that builds are
// reproducible.
func ThisBuild() Build {
	b := Build{Version: "unknown", Go: runtime.Version(), Host: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	b.stamp(tag, commit, date)
	return b
}

// stamp overwrites the fields that the linker set.
func (b *Build) stamp(tag, commit, date string) {
	b.Version, b.Commit, b.Date = cmp.Or(tag, b.Version), cmp.Or(commit, b.Commit), cmp.Or(date, b.Date)
}

// read fills in the fields from Go's build information.
func (b *Build) read(info *debug.BuildInfo) {
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.time":
			b.Date = s.Value
		case "vcs.modified":
			b.Changed = s.Value == "true"
		}
	}
	b.Version = info.Main.Version
	if b.Version == "" || b.Version == "(devel)" {
		b.Version = "devel"
		if b.Commit != "" {
			b.Version += "-" + b.shortCommit()
		}
		if b.Changed {
			b.Version += "-dirty"
		}
	}
}

func (b Build) shortCommit() string { return b.Commit[:min(12, len(b.Commit))] }

// String returns the build as one readable line.
func (b Build) String() string {
	parts := []string{"cairn " + b.Version}
	if b.Commit != "" {
		parts = append(parts, fmt.Sprintf("commit %s of %s", b.shortCommit(), cmp.Or(b.Date, "unknown date")))
	}
	if b.Changed {
		parts = append(parts, "with uncommitted changes")
	}
	return strings.Join(append(parts, b.Go, b.Host), "  ")
}

// BuildVersion returns the version of this binary.
func BuildVersion() string { return ThisBuild().Version }
