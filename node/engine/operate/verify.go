package operate

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

// found reads what an earlier process left in the directory.
func (p *Planned) found(dir string) {
	if files, err := archive.List(dir); err == nil && len(files) > 0 {
		newest := files[len(files)-1]
		p.Covered.Store(newest.At.Unix())
		p.Bytes.Store(newest.Size)
	}
	if proof, err := os.Stat(filepath.Join(dir, verifiedFile)); err == nil {
		p.Verified.Store(proof.ModTime().Unix())
	}
}

// made counts an attempt: a file, or none because nothing was written since the last.
func (p *Planned) made(path string, err error) {
	if err != nil {
		p.Failed.Add(1)
		return
	}
	p.Covered.Store(time.Now().Unix())
	if file, err := os.Stat(path); err == nil {
		p.Bytes.Store(file.Size())
	}
}

// unverified says whether the newest chain is to be restored: it has come to its end, or none ever was.
func (b *Backups) unverified(grown bool) bool {
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

// verify restores the newest chain into a scratch state beside the backups, and compares the hashes. After a
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
		b.log.Error("the backups do not restore", "dir", dir, "err", err)
	default:
		b.planned.Verified.Store(time.Now().Unix())
		b.log.Info("the backups restore", "files", len(rep.Files), "index", rep.End.Index, "took", time.Since(start).Round(time.Millisecond))
	}
}
