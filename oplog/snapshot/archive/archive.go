// Package archive keeps backups of the replicated state in a directory: whole states, and the log ranges between
// them.
//
//	state-00000000000000001234.cairn                       a snapshot of the state at index 1234
//	log-00000000000000001234-00000000000000001300.cairn    the records 1235 to 1300
//	end                                                    the index and the log time at which the last one ends
//
// The first two are checksummed streams; see package snapshot. A chain is a state followed by ranges without a gap.
// To restore a point in time, Restore restores the chain's state and applies the ranges up to that point. Files
// appear atomically under their final names. The package does not know where the streams come from.
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
	Since, Index oplog.Index // Since 0: a state, not a range
	Size         int64
	At           time.Time // when it was written
}

// IsState reports whether the file is a state, not a range of the log.
func (f File) IsState() bool { return f.Since == 0 }

// Name returns the name of a backup's file. Since 0 means a whole state.
func Name(since, index oplog.Index) string {
	if since == 0 {
		return fmt.Sprintf("state-%020d.cairn", index)
	}
	return fmt.Sprintf("log-%020d-%020d.cairn", since, index)
}

// List returns the states and ranges in a directory, in the order of the log. It ignores other files.
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
		return cmp.Or(cmp.Compare(a.Index, b.Index), strings.Compare(b.Path, a.Path)) // a state sorts before the range that ends at its index
	})
	return files, nil
}

// ErrNoBackup reports that no backups in a directory lead to the requested point.
var ErrNoBackup = errors.New("no backup for that point")

// ErrGap reports that a file is missing between two others.
var ErrGap = errors.New("a backup is missing")

// spans reports whether a range begins before a state and ends at or after it. The rest of the range can then be
// applied to the state.
func (f File) spans(o File) bool {
	return o.IsState() && f.Since < o.Index && o.Index <= f.Index
}

// Gap returns an error that names the first file after a missing one; nil if there is no gap. Everything before the
// gap can still be restored by requesting an index. The first ranges may begin before the first state, because the
// files before them were pruned.
func Gap(files []File) error {
	begins := func(f File) oplog.Index {
		if f.IsState() {
			return f.Index
		}
		return f.Since
	}
	files = slices.Clone(files)
	slices.SortStableFunc(files, func(a, b File) int {
		return cmp.Or(cmp.Compare(begins(a), begins(b)), cmp.Compare(a.Since, b.Since)) // a state sorts before a range that begins at its index
	})
	reached := oplog.Index(0)
	for _, f := range files {
		if !f.IsState() && f.Since > reached && !(reached == 0 && slices.ContainsFunc(files, f.spans)) {
			return fmt.Errorf("%w: %s continues after index %d, and the file before it ends at %d", ErrGap,
				filepath.Base(f.Path), f.Since, reached)
		}
		reached = max(reached, f.Index)
	}
	return nil
}

// Chain returns the newest state at or before an index, and the following ranges without a gap up to the one that
// contains the index. Index 0 means as far as possible.
func Chain(files []File, to oplog.Index) (chain []File, err error) {
	for _, f := range files {
		if f.IsState() && (to == 0 || f.Index <= to) {
			chain = []File{f}
		}
	}
	switch {
	case len(files) == 0:
		return nil, fmt.Errorf("%w: the directory holds no backup", ErrNoBackup)
	case chain == nil:
		return nil, fmt.Errorf("%w: the oldest begins at index %d", ErrNoBackup, oldestIndex(files))
	}
	return extendChain(files, chain, to), nil
}

// oldestIndex returns the index of the first state; without a state, the beginning of the first range.
func oldestIndex(files []File) oplog.Index {
	for _, f := range files {
		if f.IsState() {
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
		// Among the ranges that begin at or before the end, choose the one that ends last.
		best := -1
		for i, f := range files {
			if !f.IsState() && f.Since <= end && f.Index > end && (best < 0 || f.Index > files[best].Index) {
				best = i
			}
		}
		if best < 0 {
			return chain
		}
		chain = append(chain, files[best])
	}
}

// Prune keeps the newest keep states and removes older states, and the ranges that end before the oldest remaining
// state. It returns the removed files.
func Prune(dir string, keep int) (removed []File, err error) {
	files, err := List(dir)
	if err != nil || keep <= 0 {
		return nil, err
	}
	var states []oplog.Index
	for _, f := range files {
		if f.IsState() {
			states = append(states, f.Index)
		}
	}
	if len(states) <= keep {
		return nil, nil
	}
	oldest := states[len(states)-keep]
	for _, f := range slices.Backward(files) { // newest first: if this is interrupted, the remaining files still form a chain
		if f.IsState() && f.Index >= oldest || !f.IsState() && f.Index > oldest {
			continue
		}
		if err := os.Remove(f.Path); err != nil {
			return removed, err
		}
		removed = append(removed, f)
	}
	return removed, nil
}

// Names of unfinished files and directories. Older ones than maxScratchAge are abandoned.
const (
	writingPattern   = ".writing-*"
	verifyingPattern = ".cairn-verify-*.scratch"
	restoringPattern = ".cairn-restore-*.scratch" // unlikely to be a user's file
	maxScratchAge    = 24 * time.Hour
)

// Sweep removes the unfinished files and directories that killed processes have left in a directory. Each may be as
// large as a whole state.
func Sweep(dir string) (err error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		w, _ := filepath.Match(writingPattern, e.Name()) // constant patterns: no error
		v, _ := filepath.Match(verifyingPattern, e.Name())
		r, _ := filepath.Match(restoringPattern, e.Name())
		if is, ierr := e.Info(); ierr == nil && (w || v || r) && time.Since(is.ModTime()) > maxScratchAge {
			err = errors.Join(err, os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	return err
}

// Scratch creates a directory to restore into, below the system's temporary directory. The caller removes it. Scratch
// first removes directories that killed commands of this user have left there.
func Scratch() (dir string, err error) {
	_ = Sweep(os.TempDir()) // fails for those of other users
	return os.MkdirTemp("", restoringPattern)
}

// Add writes a backup into a directory. The file gets its final name after it is complete and synced.
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

// An End is the index at which the last backup of a directory ends, and the log time there. A log with another time
// at that index has another history, so its ranges must not follow this backup.
type End struct {
	Index oplog.Index `json:"index"`
	Time  string      `json:"log_time"`
}

const endFile = "end"

// TimeAt returns the log time of the backup that ends at an index; blank if it is unknown.
func TimeAt(dir string, index oplog.Index) string {
	var end End
	raw, err := os.ReadFile(filepath.Join(dir, endFile))
	if err != nil || json.Unmarshal(raw, &end) != nil || end.Index != index {
		return ""
	}
	return end.Time
}

// Note stores the end of the last written backup.
func (e End) Note(dir string) error {
	raw, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return syncwriter.Replace(filepath.Join(dir, endFile), raw, 0o600)
}

// Publish renames a finished file to its final name, and syncs the directory.
func Publish(from, to string) error {
	if err := os.Rename(from, to); err != nil {
		return err
	}
	return syncwriter.Dir(filepath.Dir(to))
}
