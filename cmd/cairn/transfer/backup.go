package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/cairndb/cairn/cmd/cairn/cli"
	"github.com/cairndb/cairn/cmd/cairn/config"
	"github.com/cairndb/cairn/node/api"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/private"
	"github.com/cairndb/cairn/oplog/snapshot/archive"
	"github.com/cairndb/cairn/wire/field"
)

// Backup returns the command `cairn backup`.
func Backup(s *cli.Streams) *cobra.Command {
	var t cli.Target
	var b backupRun
	c := &cobra.Command{
		Use: "backup --to DIR", Short: "Back up a running cluster: all databases, consistent at one index", Args: cobra.NoArgs,
		Long: `Back up a running cluster into a directory: all databases, consistent at one index of the log. Writes go on meanwhile.

The first backup in a directory is the whole state; each later one is the log since the one before. It is the whole state
again with --full, and when the log no longer holds what followed, or is another one than before, as that of a cluster
that was restored. After a purge, the next one has all rows of the purged database in place of its log; purged text is in
no backup made after the purge. When a download is interrupted, run the command again: it resumes. A second command that
writes to the same directory meanwhile is rejected. Files have checksums and get their names when they are complete.
"cairn backup verify" restores them into a scratch state and compares hashes; "cairn restore" restores them, up to any
index or time they hold. Needs a token with scope admin.

The files hold all memories: protect them like the data. A node whose home is encrypted encrypts them under its master key;
other nodes write them in plain.`,
		RunE: func(c *cobra.Command, _ []string) error {
			if b.dir == "" {
				return cli.Usage(errors.New("backup needs --to"))
			}
			b.t = &t
			done, err := b.run(c.Context())
			if err != nil {
				return err
			}
			if done.Path == "" {
				return s.PrintResult(t.JSON, done, "nothing to back up: nothing was written since index %d", done.Index)
			}
			return s.PrintResult(t.JSON, done, "%s\nindex %d  state %s  %d bytes", done.Path, done.Index, done.Hash, done.Size)
		},
	}
	t.Flags(c)
	c.Flags().StringVar(&b.dir, "to", "", "directory to write to; created if it does not exist")
	c.Flags().BoolVar(&b.full, "full", false, "back up the whole state, not only the log since the last backup")
	c.Flags().IntVar(&b.keep, "keep", 0,
		"keep this many whole states with the log ranges that follow them and remove older files; 0 keeps all")
	c.AddCommand(backupVerify(s), backupList(s))
	return c
}

// BackupDone describes a finished backup. Path is empty when there was nothing to back up.
type BackupDone struct {
	Path  string      `json:"path"`
	Since oplog.Index `json:"since"`
	Index oplog.Index `json:"index"`
	Hash  string      `json:"state_hash"`
	Size  int64       `json:"size"`
}

// backupRun is one run of `cairn backup`.
type backupRun struct {
	t    *cli.Target
	dir  string
	full bool
	keep int
}

// nodeBackup is a backup that a node has made and keeps for a while.
type nodeBackup struct {
	Node string `json:"node"` // URL of the node's gateway
	api.Backup
}

// The files of a download: the content so far and its nodeBackup. Both remain after an interruption. The lock file
// always remains.
const (
	partFile  = ".download"
	offerFile = ".download.json"
	lockFile  = ".lock"
)

// lockBackups locks a directory for this process until the file is closed, because two downloads would write to one
// file. On a file system without locks it succeeds without locking.
func lockBackups(dir string) (*os.File, error) {
	f, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
		return nil, errors.Join(fmt.Errorf("another `cairn backup` writes to %s: wait until it ends", dir), f.Close())
	}
	return f, nil
}

func (b *backupRun) run(ctx context.Context) (done BackupDone, err error) {
	if err := os.MkdirAll(b.dir, 0o700); err != nil {
		return done, err
	}
	lock, err := lockBackups(b.dir)
	if err != nil {
		return done, err
	}
	defer func() {
		if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
			err = cli.Hint(err, "free space there, then run the same command again")
		}
		err = errors.Join(err, lock.Close())
	}()
	files, err := archive.List(b.dir)
	if err != nil {
		return done, err
	}
	since := oplog.Index(0)
	if chain, err := archive.Chain(files, 0); err == nil && !b.full {
		since = chain[len(chain)-1].Index
	}
	o, ok := b.resume(ctx, since)
	if !ok {
		b.discard(ctx, o)
		if o, err = b.request(ctx, since); err != nil {
			return done, err
		}
	}
	done = BackupDone{Since: o.Since, Index: o.Index, Hash: o.Hash, Size: o.Size}
	if o.Since != 0 && o.Since == o.Index {
		b.discard(ctx, o)
		return done, nil
	}
	if err := b.download(ctx, o); err != nil {
		return done, cli.Hint(err, "run the same command again: it resumes the download")
	}
	done.Path = filepath.Join(b.dir, archive.Name(o.Since, o.Index))
	if err := archive.Publish(filepath.Join(b.dir, partFile), done.Path); err != nil {
		return done, err
	}
	b.discard(ctx, o)
	if err := (archive.End{Index: o.Index, Time: o.LogTime}).Note(b.dir); err != nil {
		return done, err
	}
	_, err = archive.Prune(b.dir, b.keep)
	return done, err
}

// request makes the node create a backup since an index, or of the whole state if its log does not reach back that
// far.
func (b *backupRun) request(ctx context.Context, since oplog.Index) (o nodeBackup, err error) {
	base, err := b.t.URL(ctx)
	if err != nil {
		return o, err
	}
	err = b.t.GetAt(ctx, "POST", base+api.MakeBackup.Path(),
		api.MakeBackupRequest{Since: since, LogTime: archive.TimeAt(b.dir, since)}, &o)
	if cli.Status(err) == http.StatusConflict && since != 0 {
		err = b.t.GetAt(ctx, "POST", base+api.MakeBackup.Path(), api.MakeBackupRequest{}, &o)
	}
	if cli.Status(err) == http.StatusBadRequest && since != 0 {
		return o, cli.Hint(err,
			fmt.Sprintf("the backups in %s reach index %d: unless the node still catches up, they are of another history, and "+
				"new ones need a directory of their own", b.dir, since))
	}
	if err != nil {
		return o, err
	}
	o.Node = base
	raw, err := json.Marshal(o)
	if err != nil {
		return o, err
	}
	return o, os.WriteFile(filepath.Join(b.dir, offerFile), raw, 0o600)
}

// resume returns the interrupted download if the node still has it. A download of the whole state is also good if the
// log since the last backup is needed.
func (b *backupRun) resume(ctx context.Context, since oplog.Index) (o nodeBackup, ok bool) {
	raw, err := os.ReadFile(filepath.Join(b.dir, offerFile))
	if err != nil || json.Unmarshal(raw, &o) != nil {
		return nodeBackup{}, false
	}
	if o.Since != since && (o.Since != 0 || o.Index <= since) {
		return o, false
	}
	ctx, cancel := b.t.Context(ctx)
	defer cancel()
	if _, err := os.Stat(filepath.Join(b.dir, partFile)); err != nil {
		return o, false
	}
	r, err := b.get(ctx, o, o.Size-1) // request one byte, to check that the node still has it
	if err != nil {
		return o, false
	}
	r.Close()
	return o, true
}

// get reads a backup from a byte offset.
func (b *backupRun) get(ctx context.Context, o nodeBackup, from int64) (io.ReadCloser, error) {
	return b.t.RequestAt(ctx, "GET", o.Node+"/v1/admin/backups/"+o.ID, nil,
		http.Header{"Range": {fmt.Sprintf("bytes=%d-", from)}, "If-Range": {`"` + o.SHA256 + `"`}})
}

// download downloads the rest of a backup and verifies its checksum.
func (b *backupRun) download(ctx context.Context, o nodeBackup) (err error) {
	path := filepath.Join(b.dir, partFile)
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	h := sha256.New()
	have, err := io.Copy(h, f)
	if err != nil {
		return err
	}
	if have < o.Size {
		r, err := b.get(ctx, o, have)
		if err != nil {
			return err
		}
		n, err := io.Copy(io.MultiWriter(f, h), io.LimitReader(r, o.Size-have))
		r.Close()
		if err == nil && have+n < o.Size {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return fmt.Errorf("download broke off after %d of %d bytes: %w", have+n, o.Size, err)
		}
	}
	if hex.EncodeToString(h.Sum(nil)) != o.SHA256 {
		os.Remove(path)
		return errors.New("the download was removed, because its checksum differs from the node's: run the same command again")
	}
	return f.Sync()
}

// discard removes the local files of the download and the node's copy. Without this, the node removes its copy after
// some time.
func (b *backupRun) discard(ctx context.Context, o nodeBackup) {
	ctx, cancel := b.t.Context(ctx)
	defer cancel()
	if o.ID != "" {
		_ = b.t.GetAt(ctx, "DELETE", o.Node+"/v1/admin/backups/"+o.ID, nil, &struct{}{})
	}
	os.Remove(filepath.Join(b.dir, offerFile))
	os.Remove(filepath.Join(b.dir, partFile))
}

func backupVerify(s *cli.Streams) *cobra.Command {
	var k config.KeySource
	c := cli.WithJSON(&cobra.Command{Use: "verify DIR",
		Short: "Restore the newest backups into a scratch state and compare the hashes", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) (err error) {
			keys, err := k.EphemeralRing(c.Context())
			if err != nil {
				return err
			}
			scratch, err := archive.Scratch()
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, os.RemoveAll(scratch)) }()
			rep, err := archive.Verify(c.Context(), args[0], scratch, keys)
			if errors.Is(err, archive.ErrNoSpace) {
				return cli.Hint(err, "the backups may be whole: free space there, or name a directory on another disk in TMPDIR")
			} else if err != nil {
				return config.KeyHint(err, "make a new one with `cairn backup --full --to "+private.Quote(args[0])+"`")
			}
			return s.PrintResult(cli.AsJSON(c),
				map[string]any{"files": len(rep.Files), "index": rep.End.Index, "state_hash": rep.End.Sum.String()},
				"%s to index %d, state %s", api.Many(len(rep.Files), "file restores", "files restore"), rep.End.Index, rep.End.Sum)
		}})
	k.Flags(c)
	return c
}

func backupList(s *cli.Streams) *cobra.Command {
	return cli.WithJSON(&cobra.Command{Use: "list DIR", Short: "List the backups in a directory", Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			files, err := archive.List(args[0])
			if err != nil {
				return err
			}
			type row struct {
				File  string      `json:"file"`
				Since oplog.Index `json:"since"`
				Index oplog.Index `json:"index"`
				Size  int64       `json:"size"`
				At    time.Time   `json:"written"`
			}
			all := api.Each(files, func(f archive.File) row { return row{filepath.Base(f.Path), f.Since, f.Index, f.Size, f.At} })
			return cli.List(s, cli.AsJSON(c), all, "FILE|SINCE|INDEX|BYTES|WRITTEN", func(r row) []any {
				return []any{r.File, r.Since, r.Index, r.Size, r.At.UTC().Format(time.RFC3339)}
			})
		}})
}

// parsePoint parses --at: an index or a time. A time without a fraction includes the whole second: users copy it from
// `date`, and expect writes within that second to be restored.
func parsePoint(s string) (to archive.Target, err error) {
	if s == "" {
		return to, nil
	}
	if _, err := fmt.Sscanf(s+"\n", "%d\n", &to.Index); err == nil && to.Index > 0 {
		return to, nil
	}
	at, err := field.ParseWhen(s, time.Now())
	if err != nil {
		return to, cli.Usagef("--at %q: want an index of the log or a date: RFC 3339 (2026-01-31T12:00:00Z), or 2h for two hours ago", s)
	}
	if at.Nanosecond() == 0 {
		at = at.Add(time.Second - time.Microsecond)
	}
	return archive.Target{Time: oplog.At(at)}, nil
}
