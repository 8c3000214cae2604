package engine

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/cairndb/cairn/oplog/snapshot/archive"
)

// proofFile is the file of a backup directory whose time is that of the last proof: a restart does not restore everything again.
const proofFile = "verified"

// backedUp is what the backups that a node makes by itself have come to. The backup task writes it and /metrics reads it.
type backedUp struct {
	covered  atomic.Int64 // Unix seconds: when the backups last held all that was written; 0: never
	bytes    atomic.Int64 // of the newest file
	proved   atomic.Int64 // Unix seconds: when the newest chain was last restored and had the hashes it names; 0: never
	failed   atomic.Int64 // backups that could not be made
	unproven atomic.Int64 // proofs that failed
}

// found takes up what a process before left in the directory.
func (b *backedUp) found(p BackupPlan) {
	if files, err := archive.List(p.Dir); err == nil && len(files) > 0 {
		newest := files[len(files)-1]
		b.covered.Store(newest.At.Unix())
		b.bytes.Store(newest.Size)
	}
	if proof, err := os.Stat(filepath.Join(p.Dir, proofFile)); err == nil {
		b.proved.Store(proof.ModTime().Unix())
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

// unproved says whether the newest chain is to be restored: it has come to its end, or none ever was.
func (b *backedUp) unproved(p BackupPlan, grown bool) bool {
	if b.proved.Load() == 0 {
		return true
	}
	files, err := archive.List(p.Dir)
	if err != nil || !grown {
		return false
	}
	chain, err := archive.Chain(files, 0)
	return err == nil && len(chain) > p.Every
}

// prove restores the newest chain into a scratch state beside the backups, and compares the hashes. One that does not come out is tried again
// after the next backup.
func (s *Service) prove(ctx context.Context, p BackupPlan) {
	start := time.Now()
	rep, err := archive.Verify(ctx, p.Dir, p.Dir, s.cfg.Keys)
	if err == nil {
		err = os.WriteFile(filepath.Join(p.Dir, proofFile), nil, 0o600)
	}
	if err == nil {
		now := time.Now()
		err = os.Chtimes(filepath.Join(p.Dir, proofFile), now, now)
	}
	switch {
	case ctx.Err() != nil || errors.Is(err, archive.ErrNoBackup) || errors.Is(err, fs.ErrNotExist): // the node stops, or nothing was ever written
	case err != nil:
		s.backedUp.unproven.Add(1)
		s.backedUp.proved.Store(0)
		s.log.Error("the backups do not restore", "dir", p.Dir, "err", err)
	default:
		s.backedUp.proved.Store(time.Now().Unix())
		s.log.Info("the backups restore", "files", len(rep.Files), "index", rep.End.Index, "took", time.Since(start).Round(time.Millisecond))
	}
}

// ofBackups is a number of the backups that a node makes by itself; nodes that make none do not show it.
func ofBackups(name, kind, help string, value func(*Service) float64) Metric {
	return Metric{Name: name, Help: help, Kind: kind, read: func(m *Metrics, put func(float64, ...string)) {
		if m.s.cfg.Backup.Dir != "" {
			put(value(m.s))
		}
	}}
}
