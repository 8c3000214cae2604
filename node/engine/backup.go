package engine

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/oplog/state"
)

// BackupPlan is the backups that a node makes by itself into a directory; without Dir it makes none. The first is a whole state, and so is
// each after Every ranges; a range is written each Interval and holds the log behind the last backup.
type BackupPlan struct {
	Dir      string
	Interval time.Duration // 1h
	Every    int           // 24: ranges of the log between two whole states
	Keep     int           // 7 whole states, with the ranges behind them
}

func (p BackupPlan) withDefaults() BackupPlan {
	if p.Interval == 0 {
		p.Interval = time.Hour
	}
	if p.Every == 0 {
		p.Every = 24
	}
	if p.Keep == 0 {
		p.Keep = 7
	}
	return p
}

// backup is the task that follows the plan. It logs an error, and tries again at the next interval.
func (s *Service) backup(ctx context.Context) error {
	p := s.cfg.Backup.withDefaults()
	s.backedUp.found(p)
	tick := time.NewTicker(p.Interval)
	defer tick.Stop()
	for {
		path, at, err := s.BackupTo(p)
		s.backedUp.made(path, err)
		if err != nil {
			s.log.Error("backup failed", "dir", p.Dir, "err", err)
		} else if path != "" {
			s.log.Info("backup written", "file", filepath.Base(path), "index", at.Index)
		}
		if err == nil && s.backedUp.unproved(p, path != "") {
			s.prove(ctx, p)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// BackupTo makes the next backup of a plan and removes those it no longer keeps. Path is empty when nothing was written since the last one.
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
	if ranges >= p.Every || since > now { // a state that is behind the backups is of another history
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

// atPoint holds the state still and calls use with where a backup ends, and with what writes it: the whole state, or the log behind an
// index. Writes go on.
func (s *Service) atPoint(since oplog.Index, use func(end state.Point, write func(io.Writer) error) error) error {
	if since > 0 {
		return s.state.Read(func(v *state.View) error {
			return use(v.Point(), func(w io.Writer) error {
				return s.sealed(w, func(w io.Writer) error { return v.WriteRange(w, since) })
			})
		})
	}
	snap, err := s.state.Snapshot()
	if err != nil {
		return err
	}
	defer snap.Release()
	return use(snap.Point(), func(w io.Writer) error {
		return s.sealed(w, func(w io.Writer) error {
			_, err := snap.WriteTo(w)
			return err
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
