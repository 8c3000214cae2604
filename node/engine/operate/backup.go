package operate

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/seal"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/state"
)

// BackupPlan is the backups that a node makes by itself into a directory; without Dir it makes none. The first is a
// whole state, and so is each after Every ranges; a range is written each Interval and holds the log behind the last
// backup.
type BackupPlan struct {
	Dir      string
	Interval time.Duration // 1h
	Every    int           // 24: ranges of the log between two whole states
	Keep     int           // 7 whole states, with the ranges behind them
}

func (p BackupPlan) withDefaults() BackupPlan {
	p.Interval, p.Every, p.Keep = cmp.Or(p.Interval, time.Hour), cmp.Or(p.Every, 24), cmp.Or(p.Keep, 7)
	return p
}

// Backups makes the backups of a node: by a plan into a directory, and on request into files that wait to be
// downloaded.
type Backups struct {
	log     *slog.Logger
	state   *state.State
	keys    *seal.Ring // nil: files are plain
	plan    BackupPlan
	planned Planned

	spool   string     // the folder of what waits to be downloaded
	making  sync.Mutex // one such backup is written at a time: each is a copy of the whole state
	mu      sync.Mutex
	waiting map[string]*spooled
}

// NewBackups returns the backups of a node. Of an earlier process it removes those that waited to be downloaded, in
// the folder spool, and reads what the plan's directory holds.
func NewBackups(log *slog.Logger, st *state.State, keys *seal.Ring, spool string, plan BackupPlan) (*Backups, error) {
	b := &Backups{log: log, state: st, keys: keys, plan: plan.withDefaults(), spool: spool, waiting: map[string]*spooled{}}
	b.planned.Interval = b.plan.Interval
	if err := os.RemoveAll(spool); err != nil {
		return nil, fmt.Errorf("backups: %w", err)
	}
	if plan.Dir != "" {
		b.planned.load(plan.Dir)
	}
	return b, nil
}

// Planned returns the results of the plan's backups; nil on a node without a plan.
func (b *Backups) Planned() *Planned {
	if b.plan.Dir == "" {
		return nil
	}
	return &b.planned
}

// Next makes the next backup of the plan. It logs an error; the next interval tries again.
func (b *Backups) Next(ctx context.Context) {
	p := b.plan
	path, at, err := b.BackUp(p)
	b.planned.recordAttempt(path, err)
	if err != nil {
		b.log.Error("backup failed", "dir", p.Dir, "err", err)
		return
	}
	if path != "" {
		b.log.Info("backup written", "file", filepath.Base(path), "index", at.Index)
	}
	if b.needsVerify(path != "") {
		b.verify(ctx)
	}
}

// BackUp makes the next backup of a plan and removes those it no longer keeps. Path is empty when nothing was written
// since the last one.
func (b *Backups) BackUp(p BackupPlan) (path string, at state.Point, err error) {
	if err := archive.Sweep(p.Dir); err != nil {
		b.log.Warn("what a process that was killed left among the backups cannot be removed", "dir", p.Dir, "err", err)
	}
	files, err := archive.List(p.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", at, err
	}
	since, ranges := oplog.Index(0), 0
	if chain, err := archive.Chain(files, 0); err == nil {
		since, ranges = chain[len(chain)-1].Index, len(chain)-1
	}
	now, _ := b.state.Applied()
	err = b.checkHistory(since, archive.TimeAt(p.Dir, since))
	if since == now && err == nil {
		return "", at, nil
	}
	if since > now { // a new one would sort before them: pruned first, and never the one restored
		return "", at, fmt.Errorf("the backups in %s reach index %d and this node is at %d: either it still catches "+
			"up, or they are of another history and new ones need a folder of their own", p.Dir, since, now)
	}
	if ranges >= p.Every {
		since = 0
	}
	if errors.Is(err, state.ErrHistory) {
		b.log.Warn("the backups there are of another history of the log: a whole state begins another chain", "dir", p.Dir, "index", since)
		since = 0
	}
	path, at, err = b.writeBackup(p.Dir, since)
	if errors.Is(err, state.ErrTrimmed) {
		path, at, err = b.writeBackup(p.Dir, 0)
	}
	if err != nil {
		return "", at, err
	}
	_, err = archive.Prune(p.Dir, p.Keep)
	return path, at, err
}

// writeBackup writes one backup into a directory. Its name says where it ends.
func (b *Backups) writeBackup(dir string, since oplog.Index) (path string, at state.Point, err error) {
	err = b.withPoint(since, func(end point, write func(io.Writer) error) (err error) {
		at = end.Point
		if path, err = archive.Add(dir, since, at.Index, write); err != nil {
			return err
		}
		return archive.End{Index: at.Index, Time: end.time}.Note(dir)
	})
	return path, at, err
}

// A point is where a backup ends, and the log's time there.
type point struct {
	state.Point
	time string
}

// withPoint pins the state at one index and calls use with that point and with a function that writes the backup: the
// whole state, or the log behind an index. Writes go on meanwhile.
func (b *Backups) withPoint(since oplog.Index, use func(end point, write func(io.Writer) error) error) error {
	return b.state.Read(func(v *state.View) error {
		end := v.Point()
		return use(point{end, v.TimeAt(end.Index).String()}, func(w io.Writer) error {
			return b.writeSealed(w, func(w io.Writer) error {
				if since > 0 {
					return v.WriteRange(w, since)
				}
				return v.WriteSnapshot(w)
			})
		})
	})
}

// checkHistory returns an error if the log's time at an index is known to have been another.
func (b *Backups) checkHistory(since oplog.Index, was string) error {
	if was == "" {
		return nil
	}
	return b.state.Read(func(v *state.View) error {
		if v.Point().Index >= since && v.TimeAt(since).String() != was {
			return state.ErrHistory
		}
		return nil
	})
}

// writeSealed writes a backup: encrypted under the master key on a node that encrypts, so that another home can read
// it.
func (b *Backups) writeSealed(w io.Writer, write func(io.Writer) error) error {
	if b.keys == nil {
		return write(w)
	}
	out, err := b.keys.Backup(w)
	if err != nil {
		return err
	}
	if err := write(out); err != nil {
		return err
	}
	return out.Close()
}

// verifiedFile is the file of a backup directory whose time is that of the last verification, so that a restart does
// not restore everything again.
const verifiedFile = "verified"

// Planned holds the results of the plan's backups. The backup task writes them and /metrics reads them.
type Planned struct {
	Interval     time.Duration // between two backups
	Covered      atomic.Int64  // Unix seconds: when the backups last held all that was written; 0: never
	Bytes        atomic.Int64  // of the newest file
	Verified     atomic.Int64  // Unix seconds: when the newest chain was last restored and had the hashes it names; 0: never
	Failed       atomic.Int64  // backups that could not be made
	Unverifiable atomic.Int64  // verifications that failed
}

// load reads what an earlier process left in the directory.
func (p *Planned) load(dir string) {
	if files, err := archive.List(dir); err == nil && len(files) > 0 {
		newest := files[len(files)-1]
		p.Covered.Store(newest.At.Unix())
		p.Bytes.Store(newest.Size)
	}
	if proof, err := os.Stat(filepath.Join(dir, verifiedFile)); err == nil {
		p.Verified.Store(proof.ModTime().Unix())
	}
}

// recordAttempt counts an attempt: a file, or none because nothing was written since the last.
func (p *Planned) recordAttempt(path string, err error) {
	if err != nil {
		p.Failed.Add(1)
		return
	}
	p.Covered.Store(time.Now().Unix())
	if file, err := os.Stat(path); err == nil {
		p.Bytes.Store(file.Size())
	}
}

// needsVerify reports whether to verify the newest chain: it is complete, or no chain was ever verified.
func (b *Backups) needsVerify(grown bool) bool {
	if b.planned.Verified.Load() == 0 {
		return true
	}
	files, err := archive.List(b.plan.Dir)
	if err != nil || !grown {
		return false
	}
	chain, err := archive.Chain(files, 0)
	return err == nil && len(chain) > b.plan.Every
}

// verify restores the newest chain into a scratch state next to the backups, and compares the hashes. After a
// failure it is called again behind the next backup.
func (b *Backups) verify(ctx context.Context) {
	start, dir := time.Now(), b.plan.Dir
	rep, err := archive.Verify(ctx, dir, dir, b.keys)
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, verifiedFile), nil, 0o600)
	}
	if err == nil {
		now := time.Now()
		err = os.Chtimes(filepath.Join(dir, verifiedFile), now, now)
	}
	switch {
	// the node stops, or nothing was ever written
	case ctx.Err() != nil || errors.Is(err, archive.ErrNoBackup) || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		b.planned.Unverifiable.Add(1)
		b.planned.Verified.Store(0)
		// the next process verifies again, too
		if gone := os.Remove(filepath.Join(dir, verifiedFile)); gone != nil && !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
		b.log.Error("the backups do not restore", "dir", dir, "err", err)
	default:
		b.planned.Verified.Store(time.Now().Unix())
		b.log.Info("the backups restore", "files", len(rep.Files), "index", rep.End.Index,
			"took", time.Since(start).Round(time.Millisecond))
	}
}
