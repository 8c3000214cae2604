package engine

import (
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/oplog"
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

// backup makes the next backup of the node's plan. It logs an error; the next interval tries again.
func (s *Service) backup(ctx context.Context) {
	p := s.backedUp.plan
	path, at, err := s.BackupTo(p)
	s.backedUp.made(path, err)
	if err != nil {
		s.log.Error("backup failed", "dir", p.Dir, "err", err)
		return
	}
	if path != "" {
		s.log.Info("backup written", "file", filepath.Base(path), "index", at.Index)
	}
	if s.backedUp.unverified(path != "") {
		s.verifyBackups(ctx)
	}
}

// BackupTo makes the next backup of a plan and removes those it no longer keeps. Path is empty when nothing was written
// since the last one.
func (s *Service) BackupTo(p BackupPlan) (path string, at state.Point, err error) {
	files, err := archive.List(p.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", at, err
	}
	since, ranges := oplog.Index(0), 0
	if chain, err := archive.Chain(files, 0); err == nil {
		since, ranges = chain[len(chain)-1].Index, len(chain)-1
	}
	now, _ := s.state.Applied()
	if since == now {
		return "", at, nil
	}
	if ranges >= p.Every || since > now { // a state that is behind the backups belongs to another history
		since = 0
	}
	path, at, err = s.backupSince(p.Dir, since)
	if errors.Is(err, state.ErrTrimmed) {
		path, at, err = s.backupSince(p.Dir, 0)
	}
	if err != nil {
		return "", at, err
	}
	_, err = archive.Prune(p.Dir, p.Keep)
	return path, at, err
}

// backupSince writes one backup into a directory. Its name says where it ends.
func (s *Service) backupSince(dir string, since oplog.Index) (path string, at state.Point, err error) {
	err = s.atPoint(since, func(end state.Point, write func(io.Writer) error) (err error) {
		at = end
		path, err = archive.Add(dir, since, at.Index, write)
		return err
	})
	return path, at, err
}

// atPoint pins the state at one index and calls use with that point and with a function that writes the backup: the
// whole state, or the log behind an index. Writes go on meanwhile.
func (s *Service) atPoint(since oplog.Index, use func(end state.Point, write func(io.Writer) error) error) error {
	return s.state.Read(func(v *state.View) error {
		return use(v.Point(), func(w io.Writer) error {
			return s.sealed(w, func(w io.Writer) error {
				if since > 0 {
					return v.WriteRange(w, since)
				}
				return v.WriteSnapshot(w)
			})
		})
	})
}

// sealed writes a backup: encrypted under the master key on a node that encrypts, so that another home can read it.
func (s *Service) sealed(w io.Writer, write func(io.Writer) error) error {
	if s.cfg.Keys == nil {
		return write(w)
	}
	out, err := s.cfg.Keys.Backup(w)
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

// backedUp holds the results of the node's automatic backups. The backup task writes it and /metrics reads it.
type backedUp struct {
	plan         BackupPlan
	covered      atomic.Int64 // Unix seconds: when the backups last held all that was written; 0: never
	bytes        atomic.Int64 // of the newest file
	verified     atomic.Int64 // Unix seconds: when the newest chain was last restored and had the hashes it names; 0: never
	failed       atomic.Int64 // backups that could not be made
	unverifiable atomic.Int64 // verifications that failed
}

// found reads what an earlier process left in the directory.
func (b *backedUp) found() {
	if files, err := archive.List(b.plan.Dir); err == nil && len(files) > 0 {
		newest := files[len(files)-1]
		b.covered.Store(newest.At.Unix())
		b.bytes.Store(newest.Size)
	}
	if proof, err := os.Stat(filepath.Join(b.plan.Dir, verifiedFile)); err == nil {
		b.verified.Store(proof.ModTime().Unix())
	}
}

// made counts an attempt: a file, or none because nothing was written since the last.
func (b *backedUp) made(path string, err error) {
	if err != nil {
		b.failed.Add(1)
		return
	}
	b.covered.Store(time.Now().Unix())
	if file, err := os.Stat(path); err == nil {
		b.bytes.Store(file.Size())
	}
}

// unverified says whether the newest chain is to be restored: it has come to its end, or none ever was.
func (b *backedUp) unverified(grown bool) bool {
	if b.verified.Load() == 0 {
		return true
	}
	files, err := archive.List(b.plan.Dir)
	if err != nil || !grown {
		return false
	}
	chain, err := archive.Chain(files, 0)
	return err == nil && len(chain) > b.plan.Every
}

// verifyBackups restores the newest chain into a scratch state beside the backups, and compares the hashes. After a
// failure it is called again behind the next backup.
func (s *Service) verifyBackups(ctx context.Context) {
	start, dir := time.Now(), s.backedUp.plan.Dir
	rep, err := archive.Verify(ctx, dir, dir, s.cfg.Keys)
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
		s.backedUp.unverifiable.Add(1)
		s.backedUp.verified.Store(0)
		s.log.Error("the backups do not restore", "dir", dir, "err", err)
	default:
		s.backedUp.verified.Store(time.Now().Unix())
		s.log.Info("the backups restore", "files", len(rep.Files), "index", rep.End.Index, "took", time.Since(start).Round(time.Millisecond))
	}
}
