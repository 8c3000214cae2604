package cli

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// A Build says what a binary was made from.
type Build struct {
	Version string `json:"version"`          // the release's tag; else the module's version, or devel and the commit
	Commit  string `json:"commit,omitempty"` // blank where it was not built in a checkout
	Date    string `json:"date,omitempty"`   // of the commit, RFC 3339
	Changed bool   `json:"changed"`          // the checkout had changes that no commit has
	Go      string `json:"go"`
	Host    string `json:"platform"`
}

// The linker sets these in a release (.ci/release, deploy/Dockerfile), whose build reads no checkout. Elsewhere they
// are blank.
var tag, commit, date string

// ThisBuild returns what this binary was made from. The date is the commit's and not that of building, so that the same
// source makes the same binary.
func ThisBuild() Build {
	b := Build{Version: "unknown", Go: runtime.Version(), Host: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.read(info)
	}
	b.stamp(tag, commit, date)
	return b
}

// stamp takes over what the linker set.
func (b *Build) stamp(tag, commit, date string) {
	b.Version, b.Commit, b.Date = cmp.Or(tag, b.Version), cmp.Or(commit, b.Commit), cmp.Or(date, b.Date)
}

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
			b.Version += "-" + b.short()
		}
		if b.Changed {
			b.Version += "-dirty"
		}
	}
}

func (b Build) short() string { return b.Commit[:min(12, len(b.Commit))] }

// String is a line for people.
func (b Build) String() string {
	parts := []string{"cairn " + b.Version}
	if b.Commit != "" {
		parts = append(parts, fmt.Sprintf("commit %s of %s", b.short(), cmp.Or(b.Date, "unknown date")))
	}
	if b.Changed {
		parts = append(parts, "with uncommitted changes")
	}
	return strings.Join(append(parts, b.Go, b.Host), "  ")
}

// BuildVersion is the version stamped into the binary: the module's, or the commit it was built from.
func BuildVersion() string { return ThisBuild().Version }
