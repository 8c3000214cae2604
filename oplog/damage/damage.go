// Package damage remembers in which files of a node something was read that is not what was written there. Each owner
// of files has a Files; status, doctor and metrics read it. It is about one run of a node: what was found before, and
// moved aside, is in the home.
package damage

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"sync"
)

// The kinds of files.
const (
	State    = "state"
	Log      = "log"
	Snapshot = "snapshot"
	Index    = "index"
)

// A File is one in which damage was found.
type File struct {
	Kind     string
	Database string // whose index it is; blank for another kind
	Path     string
	Times    int64 // that damage was found in it
	Healed   bool  // its content is not used any more
}

// maxFiles bounds the files that are listed.
const maxFiles = 8

// Files holds the damage that one owner has found. The zero value is ready.
type Files struct {
	mu    sync.Mutex // held for moments alone: pebble tells of damage with its locks held
	times map[string]int64
	list  []File
}

// Found counts damage in a file, and names the file while there is room: one that is healed makes room.
func (f *Files) Found(file File) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.times == nil {
		f.times = map[string]int64{}
	}
	f.times[file.Kind]++
	if at := slices.IndexFunc(f.list, func(had File) bool { return had.Path == file.Path }); at >= 0 {
		f.list[at].Times, f.list[at].Healed = f.list[at].Times+1, file.Healed
		return
	}
	if len(f.list) == maxFiles {
		at := slices.IndexFunc(f.list, func(had File) bool { return had.Healed })
		if at < 0 {
			return
		}
		f.list = slices.Delete(f.list, at, at+1)
	}
	file.Times = 1
	f.list = append(f.list, file)
}

// Heal marks all listed files as healed: their content is no longer used.
func (f *Files) Heal() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		f.list[i].Healed = true
	}
}

// Healed reports whether all listed files are healed.
func (f *Files) Healed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(f.list, func(had File) bool { return !had.Healed })
}

// Times returns how often damage was found in files of a kind.
func (f *Files) Times(kind string) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.times[kind]
}

// List are the first files in which damage was found, by their paths.
func (f *Files) List() []File {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.list)
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// An Error is damage of a file.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return filepath.Base(e.Path) + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// PathOf is the file whose damage an error is; another path where it names none.
func PathOf(err error, other string) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Path
	}
	return other
}
