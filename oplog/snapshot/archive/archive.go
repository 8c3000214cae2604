// Package archive keeps backups of the replicated state in a directory: whole states, and the ranges of the log that
// lead from one to the next.
//
//	state-00000000000000001234.cairn                       a snapshot, taken when 1234 was applied
//	log-00000000000000001234-00000000000000001300.cairn    the records 1235 to 1300
//	end                                                    where the last one ends, and the log's time there
//
// The first two are checksummed streams that package snapshot describes. A chain is a state and the ranges behind it
// without a gap; a point in time is reached by restoring the state and applying the ranges up to it. A file appears
// under its name only when it is whole. Nothing here knows where the streams come from.
package archive

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A File is one backup in a directory.
type File struct {
	Path         string
	Since, Index oplog.Index // Since 0: a whole state
	Size         int64
	At           time.Time // when it was written
}

// Whole reports whether the file is a state, not a range of the log.
func (f File) Whole() bool { return f.Since == 0 }

// Name returns the name of a backup's file. Since 0 means a whole state.
func Name(since, index oplog.Index) string {
	if since == 0 {
		return fmt.Sprintf("state-%020d.cairn", index)
	}
	return fmt.Sprintf("log-%020d-%020d.cairn", since, index)
}

// List reads a directory: states and ranges, in the order of the log. Other files are left out.
func List(dir string) (files []File, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		f := File{Path: filepath.Join(dir, e.Name())}
		var tail string
		if n, _ := fmt.Sscanf(e.Name(), "state-%020d.%s", &f.Index, &tail); n != 2 || tail != "cairn" {
			if n, _ := fmt.Sscanf(e.Name(), "log-%020d-%020d.%s", &f.Since, &f.Index, &tail); n != 3 || tail != "cairn" {
				continue
			}
		}
		info, err := e.Info()
		if err != nil {
			return nil, err
		}
		f.Size, f.At = info.Size(), info.ModTime()
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(a.Index, b.Index), strings.Compare(b.Path, a.Path)) // a state before the range that ends there
	})
	return files, nil
}

// ErrNoBackup says that a directory has nothing that leads to a point.
var ErrNoBackup = errors.New("no backup for that point")

// ErrGap says that a file is missing from a directory: one that is there goes on from it.
var ErrGap = errors.New("a backup is missing")

// leadsOver reports whether a range begins before a state and ends behind it, or there: the state leads to the rest
// of it.
func (f File) leadsOver(o File) bool {
	return o.Whole() && f.Since < o.Index && o.Index <= f.Index
}

// Gap names the first file, in the order in which they begin, that no other leads to; nil when all follow on one
// another. What is before it can be restored, to an index that is requested. The first ranges of all may lead over
// the first state: what they began from was pruned.
func Gap(files []File) error {
	begins := func(f File) oplog.Index {
		if f.Whole() {
			return f.Index
		}
		return f.Since
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(begins(a), begins(b)), cmp.Compare(a.Since, b.Since)) // a state before a range that begins there
	})
	reached := oplog.Index(0)
	for _, f := range files {
		if !f.Whole() && f.Since > reached && !(reached == 0 && slices.ContainsFunc(files, f.leadsOver)) {
			return fmt.Errorf("%w: %s continues after index %d, and the file before it ends at %d", ErrGap,
				filepath.Base(f.Path), f.Since, reached)
		}
		reached = max(reached, f.Index)
	}
	return nil
}

// Chain is the newest state at or before an index, with the ranges that lead on from it without a gap, as far as they
// go or to the one that holds the index. Index 0 means as far as there is.
func Chain(files []File, to oplog.Index) (chain []File, err error) {
	for _, f := range files {
		if f.Whole() && (to == 0 || f.Index <= to) {
			chain = []File{f}
		}
	}
	switch {
	case len(files) == 0:
		return nil, fmt.Errorf("%w: the directory holds no backup", ErrNoBackup)
	case chain == nil:
		return nil, fmt.Errorf("%w: the oldest begins at index %d", ErrNoBackup, oldest(files))
	}
	return extendChain(files, chain, to), nil
}

// oldest is the index of the first state; when there is none, where the first range begins.
func oldest(files []File) oplog.Index {
	for _, f := range files {
		if f.Whole() {
			return f.Index
		}
	}
	return files[0].Since
}

func extendChain(files, chain []File, to oplog.Index) []File {
	for {
		end := chain[len(chain)-1].Index
		if to != 0 && end >= to {
			return chain
		}
		// Of the ranges that begin here or before, the one that leads farthest.
		best := -1
		for i, f := range files {
			if !f.Whole() && f.Since <= end && f.Index > end && (best < 0 || f.Index > files[best].Index) {
				best = i
			}
		}
		if best < 0 {
			return chain
		}
		chain = append(chain, files[best])
	}
}

// Prune removes what is older than the newest keep states: the states before those and the ranges that end before the
// oldest that stays. It returns what it removed.
func Prune(dir string, keep int) (removed []File, err error) {
	files, err := List(dir)
	if err != nil || keep <= 0 {
		return nil, err
	}
	var states []oplog.Index
	for _, f := range files {
		if f.Whole() {
			states = append(states, f.Index)
		}
	}
	if len(states) <= keep {
		return nil, nil
	}
	oldest := states[len(states)-keep]
	for _, f := range slices.Backward(files) { // the newest first: what is left when this is cut short leads on
		if f.Whole() && f.Index >= oldest || !f.Whole() && f.Index > oldest {
			continue
		}
		if err := os.Remove(f.Path); err != nil {
			return removed, err
		}
		removed = append(removed, f)
	}
	return removed, nil
}

// What is not whole yet, and for how long it may be at work.
const (
	writingPattern   = ".writing-*"
	verifyingPattern = ".cairn-verify-*.scratch"
	restoringPattern = ".cairn-restore-*.scratch" // no name that a person would give
	maxScratchAge    = 24 * time.Hour
)

// Sweep removes what processes that were killed had begun to write, to verify or to restore in a directory: each may
// be as large as a whole state.
func Sweep(dir string) (err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		w, _ := filepath.Match(writingPattern, e.Name()) // the patterns are well formed
		v, _ := filepath.Match(verifyingPattern, e.Name())
		r, _ := filepath.Match(restoringPattern, e.Name())
		if is, ierr := e.Info(); ierr == nil && (w || v || r) && time.Since(is.ModTime()) > maxScratchAge {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// Scratch makes a directory to restore into, below the system's temporary directory, for a command that removes it
// when it ends. It first removes those that killed commands of this user have left there.
func Scratch() (dir string, err error) {
	_ = Sweep(os.TempDir()) // those of other users stay
	return os.MkdirTemp("", restoringPattern)
}

// Add writes a backup into a directory; it has its name when it is whole and on disk.
func Add(dir string, since, index oplog.Index, write func(io.Writer) error) (path string, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	path = filepath.Join(dir, Name(since, index))
	f, err := os.CreateTemp(dir, writingPattern)
	if err != nil {
		return "", err
	}
	err = write(&syncwriter.Writer{W: f, File: f})
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = Publish(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return "", err
	}
	return path, nil
}

// An End says where the last backup of a directory ends, and what the log's time was there. A log with another time
// at that index has another history: its range does not lead on.
type End struct {
	Index oplog.Index `json:"index"`
	Time  string      `json:"log_time"`
}

const endFile = "end"

// TimeAt is the time of the log in which the backup was made that ends at an index, blank where that is not known.
func TimeAt(dir string, index oplog.Index) string {
	var end End
	raw, err := os.ReadFile(filepath.Join(dir, endFile))
	if err != nil || json.Unmarshal(raw, &end) != nil || end.Index != index {
		return ""
	}
	return end.Time
}

// Note says where the backup ends that was written last.
func (e End) Note(dir string) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return syncwriter.Replace(filepath.Join(dir, endFile), raw, 0o600)
}

// Publish gives a finished file its name.
func Publish(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncwriter.Dir(filepath.Dir(to))
}
