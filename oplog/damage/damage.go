// Package damage records the files of a node whose content differs from what was written. Each owner of files has a
// Files; status, doctor and metrics read it. It covers one run of a node: files that were damaged earlier and moved
// aside are still in the home.
package damage

import (
	"cmp"
	"errors"
	"path/filepath"
	"slices"
	"sync"
)

// Kinds of files.
const (
	State    = "state"
	Log      = "log"
	Snapshot = "snapshot"
	Index    = "index"
)

// A File is a damaged file.
type File struct {
	Kind     string
	Database string // the database of an index; blank for other kinds
	Path     string
	Times    int64 // number of times that damage was found
	Healed   bool  // its content is no longer used
}

// maxFiles bounds the number of listed files.
const maxFiles = 8

// Files collects the damage that one owner has found. The zero value is ready.
type Files struct {
	mu    sync.Mutex // held for moments alone: pebble tells of damage with its locks held
	times map[string]int64
	list  []File
}

// Found counts damage in a file. It lists the file if there is room, or in place of a healed one.
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

// List returns the first damaged files, by path.
func (f *Files) List() []File {
	f.mu.Lock()
	defer f.mu.Unlock()
	list := slices.Clone(f.list)
	slices.SortFunc(list, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return list
}

// An Error reports damage of a file.
type Error struct {
	Path string
	Err  error
}

func (e *Error) Error() string { return filepath.Base(e.Path) + ": " + e.Err.Error() }
func (e *Error) Unwrap() error { return e.Err }

// PathOf returns the path of the damaged file in an error; other if the error names none.
func PathOf(err error, other string) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Path
	}
	return other
}
