package engine

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/state"
)

const (
	maxSpooled  = 4
	spoolExpiry = time.Hour // since it was last asked for
)

// spool is the backups that wait.
type spool struct {
	dir string

	mu   sync.Mutex
	kept map[string]*spooled
}

type spooled struct {
	api.Backup
	path string
	used time.Time
}

// ExpireBackups removes backups that no client has requested for a while. It does not wait for one that is being made.
func (s *Service) ExpireBackups() {
	sp := &s.backups
	if !sp.mu.TryLock() {
		return
	}
	defer sp.mu.Unlock()
	for id, b := range sp.kept {
		if time.Since(b.used) <= spoolExpiry {
			continue
		}
		delete(sp.kept, id)
		if err := os.Remove(b.path); err != nil {
			s.log.Warn("backup that was not downloaded cannot be removed", "path", b.path, "err", err)
		}
	}
}

// makeBackup writes a backup to a file of the node's own and says what it is.
func (s *Service) makeBackup(_ context.Context, _ api.Caller, q *api.MakeBackupRequest) (*api.Backup, error) {
	sp := &s.backups
	sp.mu.Lock() // one at a time: each is a copy of the whole state on this node's disk
	defer sp.mu.Unlock()
	if err := os.MkdirAll(sp.dir, 0o700); err != nil {
		return nil, err
	}
	if len(sp.kept) >= maxSpooled {
		return nil, oplog.Errorf(oplog.Unavailable, "%d backups wait to be downloaded; download or delete one", maxSpooled)
	}
	b := &spooled{Backup: api.Backup{ID: oplog.NewID(), Since: q.Since}, used: time.Now()}
	b.path = filepath.Join(sp.dir, b.ID)
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	h := sha256.New()
	err = s.atPoint(q.Since, func(end state.Point, write func(io.Writer) error) error {
		b.Index, b.Hash = end.Index, end.Sum.String()
		return write(io.MultiWriter(f, h))
	})
	var serr error
	b.Size, serr = f.Seek(0, io.SeekCurrent)
	if err = errors.Join(err, serr, f.Close()); err != nil {
		os.Remove(b.path)
		return nil, err
	}
	b.SHA256 = hex.EncodeToString(h.Sum(nil))
	sp.kept[b.ID] = b
	return &b.Backup, nil
}

func (sp *spool) find(id string) (*spooled, error) {
	sp.mu.Lock()
	defer sp.mu.Unlock()
	b, ok := sp.kept[id]
	if !ok {
		return nil, oplog.Errorf(oplog.NotFound, "no such backup; make a new one")
	}
	b.used = time.Now()
	return b, nil
}

func (s *Service) fetchBackup(_ context.Context, _ api.Caller, q *api.FetchBackupRequest) (*api.BackupFile, error) {
	b, err := s.backups.find(q.ID)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(b.path)
	if err != nil {
		return nil, err
	}
	return &api.BackupFile{File: f, SHA256: b.SHA256}, nil
}

func (s *Service) dropBackup(_ context.Context, _ api.Caller, q *api.DropBackupRequest) (*api.DroppedBackup, error) {
	b, err := s.backups.find(q.ID)
	if err != nil {
		return nil, err
	}
	sp := &s.backups
	sp.mu.Lock()
	defer sp.mu.Unlock()
	delete(sp.kept, b.ID)
	return &api.DroppedBackup{ID: b.ID}, os.Remove(b.path)
}
