package damage

import (
	"errors"
	"fmt"
	"slices"
	"testing"
)

// TestFilesAreNamedAndCounted: each file is listed once, with the number of damages that were found in it. A healed
// file makes room for another one, and all files are counted.
func TestFilesAreNamedAndCounted(t *testing.T) {
	t.Parallel()
	var f Files
	if !f.Healed() || f.Times(Index) != 0 || len(f.List()) != 0 {
		t.Error("damage before any was found")
	}
	for range 2 {
		f.Found(File{Kind: Index, Database: "default", Path: "b"})
	}
	f.Found(File{Kind: Log, Path: "a", Healed: true})
	want := []File{{Kind: Log, Path: "a", Times: 1, Healed: true}, {Kind: Index, Database: "default", Path: "b", Times: 2}}
	if got := f.List(); !slices.Equal(got, want) || f.Healed() || f.Times(Index) != 2 || f.Times(Log) != 1 {
		t.Errorf("%+v, healed %t", got, f.Healed())
	}
	f.Heal()
	if !f.Healed() {
		t.Error("not healed")
	}
	f.Found(File{Kind: Index, Database: "default", Path: "b"})
	if f.Healed() {
		t.Error("found again, and healed")
	}
	for i := range 2 * maxFiles {
		f.Found(File{Kind: State, Path: fmt.Sprint("c", i)})
	}
	named := func(path string) bool {
		return slices.ContainsFunc(f.List(), func(had File) bool { return had.Path == path })
	}
	if len(f.List()) != maxFiles || f.Times(State) != 2*maxFiles || named("a") || !named("b") || !named("c0") {
		t.Errorf("%d are counted, %+v", f.Times(State), f.List())
	}
}

func TestAnErrorNamesItsFile(t *testing.T) {
	t.Parallel()
	why := errors.New("checksum differs")
	err := fmt.Errorf("open: %w", &Error{Path: "/home/index/1-2/rows-3", Err: why})
	if PathOf(err, "d") != "/home/index/1-2/rows-3" || PathOf(why, "d") != "d" || !errors.Is(err, why) ||
		err.Error() != "open: rows-3: checksum differs" {
		t.Errorf("%v is about %s", err, PathOf(err, "d"))
	}
}
