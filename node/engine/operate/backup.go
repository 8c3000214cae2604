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

// BackupPlan configures scheduled backups into a directory. Without Dir there are none. A full backup has the whole
// state. A range has the log since the previous backup. A backup is made each Interval: a full one first and after
// every Every ranges, else a range.
type BackupPlan struct {
	Dir      string
	Interval time.Duration // default 1h
	Every    int           // default 24: ranges between two full backups
	Keep     int           // default 7: full backups that are kept, with their ranges
}

func (p BackupPlan) withDefaults() BackupPlan {
	p.Interval, p.Every, p.Keep = cmp.Or(p.Interval, time.Hour), cmp.Or(p.Every, 24), cmp.Or(p.Keep, 7)
	return p
}

// Backups makes the backups of a node: scheduled ones into a directory, and on request files for download.
type Backups struct {
	log     *slog.Logger
	state   *state.State
	keys    *seal.Ring // nil: files are plain
	plan    BackupPlan
	planned Planned

	spool   string     // directory of the backups for download
	writeMu sync.Mutex // serializes backups for download, because each is a copy of the whole state
	mu      sync.Mutex
	waiting map[string]*spooled
}

// NewBackups returns the backups of a node. It removes an earlier process's backups for download from the directory
// spool, and reads the state of the plan's directory.
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

// Planned returns the results of scheduled backups, or nil on a node without a plan.
func (b *Backups) Planned() *Planned {
	if b.plan.Dir == "" {
		return nil
	}
	return &b.planned
}

// Next makes the next scheduled backup. It logs errors; the next interval tries again.
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

// BackUp makes the next backup of a plan and removes those that the plan no longer keeps. path is "" if nothing was
// written to the log since the last backup.
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
	applied, _ := b.state.Applied()
	err = b.checkHistory(since, archive.TimeAt(p.Dir, since))
	if since == applied && err == nil {
		return "", at, nil
	}
	if since > applied { // a new backup would sort before them, so it would be pruned first and never restored
		return "", at, fmt.Errorf("the backups in %s reach index %d and this node is at %d: either it still catches "+
			"up, or they are of another history and new ones need a folder of their own", p.Dir, since, applied)
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

// writeBackup writes one backup into a directory. Its file name contains its last index.
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

// A point is the last position in a backup, and the log's time there.
type point struct {
	state.Point
	time string
}

// withPoint pins the state at one index and calls use with that point and with a function that writes the backup: the
// whole state, or the log since an index. Writes continue meanwhile.
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

// checkHistory returns an error if the log's time at an index differs from the recorded one.
func (b *Backups) checkHistory(since oplog.Index, recorded string) error {
	if recorded == "" {
		return nil
	}
	return b.state.Read(func(v *state.View) error {
		if v.Point().Index >= since && v.TimeAt(since).String() != recorded {
			return state.ErrHistory
		}
		return nil
	})
}

// writeSealed writes a backup. On a node with encryption it is encrypted under the master key, so that another home
// can read it.
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

// verifiedFile is a file in a backup directory whose modification time is the time of the last successful
// verification, so that a restart does not verify again.
const verifiedFile = "verified"

// Planned holds the results of scheduled backups. The backup task writes them and /metrics reads them.
type Planned struct {
	Interval     time.Duration // interval between two backups
	Covered      atomic.Int64  // Unix seconds when the backups last covered everything; 0: never
	Bytes        atomic.Int64  // size of the newest file
	Verified     atomic.Int64  // Unix seconds of the last successful verification; 0: never
	Failed       atomic.Int64  // number of failed backups
	Unverifiable atomic.Int64  // number of failed verifications
}

// load reads the results of an earlier process from the directory.
func (p *Planned) load(dir string) {
	if files, err := archive.List(dir); err == nil && len(files) > 0 {
		newest := files[len(files)-1]
		p.Covered.Store(newest.At.Unix())
		p.Bytes.Store(newest.Size)
	}
	if info, err := os.Stat(filepath.Join(dir, verifiedFile)); err == nil {
		p.Verified.Store(info.ModTime().Unix())
	}
}

// recordAttempt records an attempt. path is "" if there was nothing to back up.
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

// needsVerify reports whether to verify the newest chain: it has just been completed, or no chain was ever verified.
func (b *Backups) needsVerify(written bool) bool {
	if b.planned.Verified.Load() == 0 {
		return true
	}
	files, err := archive.List(b.plan.Dir)
	if err != nil || !written {
		return false
	}
	chain, err := archive.Chain(files, 0)
	return err == nil && len(chain) > b.plan.Every
}

// verify restores the newest chain into a temporary state next to the backups, and compares the hashes. After a
// failure the next backup verifies again.
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
	// the node stops, or there is no backup yet
	case ctx.Err() != nil || errors.Is(err, archive.ErrNoBackup) || errors.Is(err, fs.ErrNotExist):
	case err != nil:
		b.planned.Unverifiable.Add(1)
		b.planned.Verified.Store(0)
		// the next process must verify again
		if removeErr := os.Remove(filepath.Join(dir, verifiedFile)); removeErr != nil && !errors.Is(removeErr, fs.ErrNotExist) {
			err = errors.Join(err, removeErr)
		}
		message := "the backups do not restore"
		if errors.Is(err, archive.ErrNoSpace) {
			message = "the backups could not be verified: free space in their directory"
		}
		b.log.Error(message, "dir", dir, "err", err)
	default:
		b.planned.Verified.Store(time.Now().Unix())
		b.log.Info("the backups restore", "files", len(rep.Files), "index", rep.End.Index,
			"took", time.Since(start).Round(time.Millisecond))
	}
}
