package operate

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
)

const (
	maxSpooled  = 4
	spoolExpiry = time.Hour // after the last request
)

// A spooled backup is a file that waits for its download.
type spooled struct {
	api.Backup
	path string
	used time.Time
}

// Expire removes backups that no client has requested for a while.
func (b *Backups) Expire() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for id, old := range b.waiting {
		if time.Since(old.used) <= spoolExpiry {
			continue
		}
		delete(b.waiting, id)
		if err := os.Remove(old.path); err != nil {
			b.log.Warn("backup that was not downloaded cannot be removed", "path", old.path, "err", err)
		}
	}
}

// Make writes a backup for download and returns its description. If the client has left meanwhile, it removes the
// backup, because no client knows its id.
func (b *Backups) Make(ctx context.Context, _ api.Caller, q *api.MakeBackupRequest) (*api.Backup, error) {
	if err := b.checkHistory(q.Since, q.LogTime); err != nil {
		return nil, err
	}
	b.writeMu.Lock()
	defer b.writeMu.Unlock()
	if err := os.MkdirAll(b.spool, 0o700); err != nil {
		return nil, err
	}
	b.mu.Lock()
	waiting := len(b.waiting)
	b.mu.Unlock()
	if waiting >= maxSpooled {
		return nil, oplog.Errorf(oplog.Unavailable, "%d backups wait to be downloaded; download or delete one", maxSpooled)
	}
	backup := &spooled{Backup: api.Backup{ID: oplog.NewID(), Since: q.Since}, used: time.Now()}
	backup.path = filepath.Join(b.spool, backup.ID)
	f, err := os.OpenFile(backup.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	err = b.withPoint(q.Since, func(end point, write func(io.Writer) error) error {
		backup.Index, backup.Hash, backup.LogTime = end.Index, end.Sum.String(), end.time
		return write(io.MultiWriter(f, h))
	})
	var sizeErr error
	backup.Size, sizeErr = f.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, sizeErr, f.Close(), ctx.Err()); err != nil {
		os.Remove(backup.path)
		return nil, err
	}
	backup.SHA256, backup.used = hex.EncodeToString(h.Sum(nil)), time.Now()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.waiting[backup.ID] = backup
	return &backup.Backup, nil
}

// spooledBackup returns a waiting backup. The caller holds mu.
func (b *Backups) spooledBackup(id string) (*spooled, error) {
	backup, ok := b.waiting[id]
	if !ok {
		return nil, oplog.Errorf(oplog.NotFound, "no such backup; make a new one")
	}
	backup.used = time.Now()
	return backup, nil
}

// Fetch opens a waiting backup.
func (b *Backups) Fetch(_ context.Context, _ api.Caller, q *api.FetchBackupRequest) (*api.BackupFile, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	backup, err := b.spooledBackup(q.ID)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(backup.path)
	if err != nil {
		return nil, err
	}
	return &api.BackupFile{File: f, SHA256: backup.SHA256}, nil
}

// Drop removes a waiting backup.
func (b *Backups) Drop(_ context.Context, _ api.Caller, q *api.DropBackupRequest) (*api.DroppedBackup, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	backup, err := b.spooledBackup(q.ID)
	if err != nil {
		return nil, err
	}
	delete(b.waiting, backup.ID)
	return &api.DroppedBackup{ID: backup.ID}, os.Remove(backup.path)
}
