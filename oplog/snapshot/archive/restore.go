package archive

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/state"
)

// A Target is the point to restore to. The zero value means everything. Index and Time are inclusive.
type Target struct {
	Index    oplog.Index
	Time     oplog.Time
	Database string // the only database needed; others may lack entries that a purge erased
}

// Restore restores a directory's newest chain up to the target into a new state at path. It verifies the hash of the
// state, and after each completely applied range the hash in that range. It never changes an existing file.
//
// Keys, if not nil, decrypt the backups and encrypt the new state. If ctx ends, Restore removes the new state.
func Restore(ctx context.Context, dir, path string, to Target, keys *seal.Ring) (at state.Point, err error) {
	if _, err := os.Stat(path); err == nil {
		return at, fmt.Errorf("%s exists", path)
	}
	files, err := List(dir)
	if err != nil {
		return at, err
	}
	chain, err := chainFor(ctx, files, to, keys)
	if err == nil {
		err = checkTarget(files, chain, to)
	}
	if err != nil {
		return at, fmt.Errorf("%s: %w", dir, err)
	}
	st, err := state.Open(path, state.Options{Keys: keys})
	if err != nil {
		return at, err
	}
	defer func() {
		err = errors.Join(err, st.Close())
		if err != nil {
			os.RemoveAll(path)
		}
	}()
	if err := restoreState(ctx, st, chain[0], keys); err != nil {
		return at, err
	}
	var purged []oplog.DB
	for _, f := range chain[1:] {
		done, err := applyRange(ctx, st, f, to, keys)
		if err != nil {
			return at, err
		}
		purged = slices.AppendSeq(purged, maps.Keys(done.Erased))
		if !done.Complete {
			break
		}
	}
	if len(purged) > 0 { // until compaction, files still contain the rows that were replaced
		err = st.Compact(ctx, purged, false, 0)
	}
	return st.Point(), err
}

// checkTarget returns an error if a chain does not lead to the target. Without an index it must lead to the last
// file: a chain that ends at a missing file would restore less than was backed up.
func checkTarget(files, chain []File, to Target) error {
	end := chain[len(chain)-1].Index
	if to.Index == 0 {
		return Gap(slices.DeleteFunc(slices.Clone(files), func(f File) bool { return f.Index < chain[0].Index }))
	}
	if end < to.Index {
		return fmt.Errorf("%w: %w", ErrNoBackup, cmp.Or(Gap(files), fmt.Errorf("the newest ends at index %d; ask for an earlier one", end)))
	}
	return nil
}

// chainFor returns the chain that begins with the newest state at or before the target. For a target time it must
// read states, because only a state's newest entry has its time.
func chainFor(ctx context.Context, files []File, to Target, keys *seal.Ring) ([]File, error) {
	if to.Time == 0 {
		return Chain(files, to.Index)
	}
	limit := to.Index
	for {
		chain, err := Chain(files, limit)
		if err != nil {
			return nil, err
		}
		newest, err := stateTime(ctx, chain[0], keys)
		if err != nil {
			return nil, err
		}
		if newest <= to.Time {
			return extendChain(files, chain[:1], to.Index), nil
		}
		if limit = chain[0].Index - 1; limit < oldestIndex(files) {
			return nil, fmt.Errorf("%w: the oldest is of %s; ask for that time or a later one", ErrNoBackup,
				newest.Time().Format("2006-01-02T15:04:05.000000Z07:00"))
		}
	}
}

func stateTime(ctx context.Context, f File, keys *seal.Ring) (t oplog.Time, err error) {
	err = readFile(ctx, f.Path, keys, func(r io.Reader) error {
		last, err := state.LastOf(r)
		t = last.Time()
		return err
	})
	return t, err
}

func restoreState(ctx context.Context, st *state.State, f File, keys *seal.Ring) error {
	if err := readFile(ctx, f.Path, keys, func(r io.Reader) error { return st.Restore(r, nil) }); err != nil {
		return err
	}
	if err := st.Verify(); err != nil {
		return fmt.Errorf("%s: %w", f.Path, err)
	}
	if got := st.Point().Index; got != f.Index {
		return fmt.Errorf("%s: it holds the state at %d", f.Path, got)
	}
	return nil
}

func readFile(ctx context.Context, path string, keys *seal.Ring, use func(io.Reader) error) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	in := bufio.NewReaderSize(ctxReader{ctx, f}, 64<<10)
	var plain io.Reader = in
	if head, err := in.Peek(8); err == nil && seal.IsSealed(head) {
		if plain, err = keys.Reader(in); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	if err := use(plain); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

// ctxReader is a reader that fails once its context ends.
type ctxReader struct {
	ctx context.Context
	r   io.Reader
}

func (u ctxReader) Read(p []byte) (int, error) {
	if err := u.ctx.Err(); err != nil {
		return 0, err
	}
	return u.r.Read(p)
}

// applyRange applies a range up to the target.
func applyRange(ctx context.Context, st *state.State, f File, to Target, keys *seal.Ring) (done state.Replayed, err error) {
	err = readFile(ctx, f.Path, keys, func(in io.Reader) error {
		done, err = st.ApplyRange(in, func(at oplog.Index, hlc oplog.Time) bool {
			return (to.Index == 0 || at <= to.Index) && (to.Time == 0 || hlc <= to.Time)
		})
		if err == nil && !done.Complete {
			err = to.checkErased(st, done)
		}
		return err
	})
	return done, err
}

// ErrPurged reports that a range lacks entries before the target, because a purge erased them before the range was
// written.
var ErrPurged = errors.New("a purge erased entries on the way there")

// checkErased returns ErrPurged if a range that was applied up to the target lacks entries that the target needs.
func (to Target) checkErased(st *state.State, done state.Replayed) error {
	first, names := oplog.Index(0), []string(nil)
	err := st.Read(func(v *state.View) error {
		for id, at := range done.Erased {
			d, _ := v.Database(id)
			if to.Database != "" && d.Name != to.Database {
				continue
			}
			if first == 0 || at < first {
				first = at
			}
			names = append(names, cmp.Or(d.Name, fmt.Sprint("number ", id)))
		}
		return nil
	})
	if err != nil || first == 0 {
		return err
	}
	slices.Sort(names)
	return fmt.Errorf("%w: this file has no entries of %s; ask for index %d, or for index %d or earlier", ErrPurged,
		strings.Join(names, ", "), done.End, first-1)
}

// Report is the result of Verify.
type Report struct {
	Files []File
	End   state.Point
}

// ErrNoSpace means that the disk of the scratch state was full during a verification: the backups may well restore.
var ErrNoSpace = errors.New("no space for the scratch state of a verification")

// Verify restores the newest chain into a scratch state below the directory in, verifies all hashes, and removes it.
func Verify(ctx context.Context, dir, in string, keys *seal.Ring) (rep Report, err error) {
	files, err := List(dir)
	if err != nil {
		return rep, err
	}
	if rep.Files, err = Chain(files, 0); err == nil {
		err = Gap(files)
	}
	if err != nil {
		return rep, fmt.Errorf("%s: %w", dir, err)
	}
	scratch, err := os.MkdirTemp(in, verifyingPattern)
	if err != nil {
		return rep, err
	}
	rep.End, err = Restore(ctx, dir, filepath.Join(scratch, "state"), Target{}, keys)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		err = fmt.Errorf("%w in %s: %w", ErrNoSpace, in, err)
	}
	return rep, errors.Join(err, os.RemoveAll(scratch))
}
