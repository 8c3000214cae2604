package node

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cairndb/cairn/oplog"
)

// A backup over the gateway is made in two steps, so that a download that breaks off goes on where it was: POST writes
// it to a file beside the state, GET serves that file, ranges and all, and DELETE is for those who are done.
var backupRoutes = []route{
	{name: "backup", method: "POST", path: "/v1/admin/backups", scope: Admin, handle: makeBackup,
		summary: "Make a backup of all databases as this node has them: the whole state, or with since the log behind an index", body: "since:integer[0..]",
		result: "id:string! since:integer! index:integer! state_hash:string! size:integer! sha256:string!"},
	{name: "backup_send", method: "GET", path: "/v1/admin/backups/{id}", scope: Admin, handle: direct((*gateway).sendBackup), summary: "Download a backup; ranges are served", media: "application/octet-stream"},
	{name: "backup_drop", method: "DELETE", path: "/v1/admin/backups/{id}", scope: Admin, handle: dropBackup, summary: "Remove a backup that was downloaded", result: "deleted:string!"},
}

const (
	maxSpooled  = 4
	spoolExpiry = time.Hour // since it was last asked for
)

// Backup is one that waits to be downloaded.
type Backup struct {
	ID     string      `json:"id"`
	Since  oplog.Index `json:"since"` // 0: the whole state
	Index  oplog.Index `json:"index"`
	Hash   string      `json:"state_hash"`
	Size   int64       `json:"size"`
	SHA256 string      `json:"sha256"`
}

// spool is the backups that wait. The zero value with a dir is ready.
type spool struct {
	dir string

	mu   sync.Mutex
	kept map[string]*spooled
}

type spooled struct {
	Backup
	path string
	used time.Time
}

// expire removes backups that no client has asked for in a while. It does not wait for one that is being made.
func (s *spool) expire(log *slog.Logger) {
	if !s.mu.TryLock() {
		return
	}
	defer s.mu.Unlock()
	for id, b := range s.kept {
		if time.Since(b.used) <= spoolExpiry {
			continue
		}
		delete(s.kept, id)
		if err := os.Remove(b.path); err != nil {
			log.Warn("a backup that was not downloaded stays", "path", b.path, "err", err)
		}
	}
}

// Spool writes a backup to a file of the node's own and says what it is.
func (s *Service) Spool(since oplog.Index) (Backup, error) {
	sp := &s.backups
	sp.mu.Lock() // one at a time: each is a copy of the whole state on this node's disk
	defer sp.mu.Unlock()
	if err := os.MkdirAll(sp.dir, 0o700); err != nil {
		return Backup{}, err
	}
	if len(sp.kept) >= maxSpooled {
		return Backup{}, oplog.Errorf(oplog.Unavailable, "%d backups wait to be downloaded; download or delete one", maxSpooled)
	}
	b := &spooled{Backup: Backup{ID: oplog.NewID(), Since: since}, used: time.Now()}
	b.path = filepath.Join(sp.dir, b.ID)
	f, err := os.OpenFile(b.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return Backup{}, err
	}
	h := sha256.New()
	out := &countingWriter{w: io.MultiWriter(f, h)}
	at, err := s.WriteBackup(out, since)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(b.path)
		return Backup{}, err
	}
	b.Index, b.Hash, b.Size, b.SHA256 = at.Index, at.Sum.String(), out.n, hex.EncodeToString(h.Sum(nil))
	if sp.kept == nil {
		sp.kept = map[string]*spooled{}
	}
	sp.kept[b.ID] = b
	return b.Backup, nil
}

type countingWriter struct {
	w io.Writer
	n int64
}

func (c *countingWriter) Write(p []byte) (int, error) {
	n, err := c.w.Write(p)
	c.n += int64(n)
	return n, err
}

// WriteBackup streams the state as this node has it, or the log behind an index, and says where it ends. Writes go on.
func (s *Service) WriteBackup(w io.Writer, since oplog.Index) (at oplog.Point, err error) {
	if since == 0 {
		snap, err := s.state.Snapshot()
		if err != nil {
			return at, err
		}
		defer snap.Release()
		err = sealed(s.keys, w, func(w io.Writer) error {
			_, err := snap.WriteTo(w)
			return err
		})
		return snap.Point(), err
	}
	err = s.state.Read(func(v *oplog.View) error {
		at = v.Point()
		return sealed(s.keys, w, func(w io.Writer) error { return v.WriteRange(w, since) })
	})
	return at, err
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

func makeBackup(g *gateway, q *request) (any, error) {
	return g.s.Spool(oplog.Index(q.body.whole("since", 0)))
}

func (g *gateway) sendBackup(w http.ResponseWriter, r *http.Request, _ Caller) error {
	b, err := g.s.backups.find(r.PathValue("id"))
	if err != nil {
		return err
	}
	f, err := os.Open(b.path)
	if err != nil {
		return err
	}
	defer f.Close()
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("ETag", `"`+b.SHA256+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}

func dropBackup(g *gateway, q *request) (any, error) {
	b, err := g.s.backups.find(q.r.PathValue("id"))
	if err != nil {
		return nil, err
	}
	sp := &g.s.backups
	sp.mu.Lock()
	defer sp.mu.Unlock()
	delete(sp.kept, b.ID)
	return map[string]string{"deleted": b.ID}, os.Remove(b.path)
}
