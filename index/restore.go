package index

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/damage"
	"github.com/cairndb/cairn/oplog/state"
)

// An identity names the database of a directory. It is written before the first text, so that a directory is never
// taken for another database's.
type identity struct {
	Format   int        `json:"format"`
	Cluster  string     `json:"cluster"`
	Database oplog.DB   `json:"database"`
	Name     string     `json:"name"`
	Created  oplog.Time `json:"created"`
}

// indexFormat is raised when the meaning of stored rows changes.
const indexFormat = 5

const identityFile = "identity.json"

// tidy removes directories that no database will open: those with other names, and older generations.
func (x *Index) tidy() error {
	entries, err := os.ReadDir(x.cfg.Dir)
	if err != nil {
		return err
	}
	newest := map[oplog.DB]int{}
	for _, e := range entries {
		if id, gen, ok := parseDir(e.Name()); ok {
			newest[id] = max(newest[id], gen)
			x.gen = max(x.gen, gen)
		}
	}
	for _, e := range entries {
		if id, gen, ok := parseDir(e.Name()); e.Name() != checkpointFile && (!ok || gen < newest[id]) {
			if err := os.RemoveAll(filepath.Join(x.cfg.Dir, e.Name())); err != nil {
				return err
			}
		} else if ok {
			x.dirs[id] = e.Name()
		}
	}
	return nil
}

// dirName returns the name of a database's directory. Each rebuild has its own directory.
func dirName(id oplog.DB, gen int) string {
	return strconv.Itoa(int(id)) + "-" + strconv.Itoa(gen)
}

func parseDir(name string) (id oplog.DB, gen int, ok bool) {
	db, number, ok := strings.Cut(name, "-")
	gen, err := strconv.Atoi(number)
	n, bad := strconv.ParseUint(db, 10, 32)
	return oplog.DB(n), gen, ok && err == nil && bad == nil
}

// open opens the index of a database. It reuses old, a directory that an earlier run left, if that is readable and
// belongs to this database; otherwise it creates an empty one. revived reports that a checkpoint filled the columns,
// withVectors has it fill the vectors as well.
func (x *Index) open(cluster string, info oplog.Database, gen int, old string, files databaseFiles, withVectors bool) (_ *database, revived bool, err error) {
	self := identity{Format: indexFormat, Cluster: cluster, Database: info.ID, Name: info.Name, Created: info.Created}
	if old != "" {
		dir := filepath.Join(x.cfg.Dir, old)
		if d, revived := x.reopen(dir, self, files, withVectors); d != nil {
			return d, revived, nil
		}
		if err := os.RemoveAll(dir); err != nil {
			return nil, false, fmt.Errorf("database %d: %w", info.ID, err)
		}
	}
	dir := filepath.Join(x.cfg.Dir, dirName(info.ID, gen))
	// a failed opening of this generation may have left words of other rows
	if err := errors.Join(os.MkdirAll(dir, 0o700), os.RemoveAll(filepath.Join(dir, "text"))); err != nil {
		return nil, false, fmt.Errorf("database %d: %w", info.ID, err)
	}
	raw, err := json.Marshal(self)
	if err != nil {
		return nil, false, err
	}
	if err := os.WriteFile(filepath.Join(dir, identityFile), x.cfg.Keys.Bytes(raw), 0o600); err != nil {
		return nil, false, fmt.Errorf("database %d: %w", info.ID, err)
	}
	words, err := x.openWords(dir)
	if err != nil {
		return nil, false, fmt.Errorf("database %d: %w", info.ID, err)
	}
	return newDatabase(filepath.Join(dir, "text"), words), false, nil
}

func (x *Index) openWords(dir string) (*text.Index, error) {
	return text.Open(text.Config{Dir: filepath.Join(dir, "text"), Cache: x.cache, Backlog: x.tails, Logger: x.cfg.Logger,
		Keys: x.cfg.Keys, Damaged: x.noticeDamage})
}

// reopen opens the directory that an earlier run left; nil when it belongs to another database or is damaged.
func (x *Index) reopen(dir string, self identity, files databaseFiles, withVectors bool) (_ *database, revived bool) {
	raw, err := os.ReadFile(filepath.Join(dir, identityFile))
	if err == nil {
		raw, err = x.cfg.Keys.Plain(raw)
	}
	var b identity
	if err == nil {
		err = json.Unmarshal(raw, &b)
	}
	switch {
	case err != nil:
		x.cfg.Logger.Warn("index unreadable, rebuilt", "path", dir, "err", fmt.Errorf("%s: %w", identityFile, err))
		return nil, false
	case b.Format != indexFormat:
		x.cfg.Logger.Info("another version wrote the index, it is built again", "path", dir)
		return nil, false
	case b != self:
		x.cfg.Logger.Info("index directory belongs to another database, removed", "path", dir)
		return nil, false
	}
	d := emptyDatabase(dir)
	r := checkpointLoader{d: d, withVectors: withVectors}
	filled := make(chan error, 1)
	go func() { filled <- x.loadCheckpoint(&r, dir, files) }() // while the text index opens, which takes about as long
	words, err := x.openWords(dir)
	failed := <-filled
	if err != nil {
		x.cfg.Logger.Warn("index unreadable, rebuilt", "path", dir, "err", err)
		if errors.Is(err, text.ErrCorrupt) && !errors.Is(err, text.ErrVersion) {
			x.noteDiscarded(self.Name, damage.PathOf(err, dir))
		}
		return nil, false
	}
	rows, next := words.Restored()
	if failed == nil {
		r.matchWords(rows)
	} else {
		if !errors.Is(failed, errOtherDirectory) {
			x.cfg.Logger.Warn("checkpoint of the index unreadable, reading the state instead", "path", dir, "err", failed)
		}
		if path := damage.PathOf(failed, ""); path != "" {
			x.noteDiscarded(self.Name, path)
		}
		d = emptyDatabase(dir)
		for _, r := range rows {
			d.adopt(r)
		}
	}
	d.words = words
	d.cols.skip(next)
	return d, failed == nil
}

// emptyDatabase returns a database without rows that can adopt rows found on disk. The caller sets words once the text
// index is open.
func emptyDatabase(dir string) *database {
	d := newDatabase(filepath.Join(dir, "text"), nil)
	d.adopted, d.orphans = map[oplog.Seq]adoptedRow{}, map[uint32]struct{}{}
	return d
}

var errOtherDirectory = errors.New("the checkpoint names another directory")

// loadCheckpoint reads the files of a checkpoint into an empty database.
func (x *Index) loadCheckpoint(r *checkpointLoader, dir string, files databaseFiles) error {
	if files.Dir != filepath.Base(dir) {
		return errOtherDirectory
	}
	if len(files.Pieces) == 0 {
		return errors.New("the checkpoint has no piece")
	}
	for _, f := range files.Pieces {
		p := piece{pieceFile: f}
		if err := readSections(filepath.Join(dir, f.File), rowsMagic, x.cfg.Keys,
			func(e *sectionReader) error { return r.read(e, &p) }); err != nil {
			return err
		}
		r.d.pieces = append(r.d.pieces, p)
	}
	r.d.reorderSessions()
	return nil
}

// loadHead reads the head of the checkpoint. It is empty when there is no checkpoint, or when the state's log does
// not hold every entry after it.
func (x *Index) loadHead(ctx context.Context, v *state.View) (head checkpoint) {
	path := filepath.Join(x.cfg.Dir, checkpointFile)
	err := readSections(path, headMagic, x.cfg.Keys, func(e *sectionReader) error {
		if !e.next() {
			return e.err
		}
		return json.Unmarshal(e.take(len(e.buf)), &head)
	})
	if err == nil {
		err = head.follows(v)
	}
	if err != nil {
		switch {
		case ctx.Err() != nil: // the caller returns
		case damage.PathOf(err, "") != "":
			x.cfg.Logger.Warn("checkpoint of the index unreadable, reading the state instead", "path", path, "err", err)
			x.noteDiscarded("", path)
		case !errors.Is(err, os.ErrNotExist):
			x.cfg.Logger.Info("checkpoint of the index not used", "err", err)
		}
		return checkpoint{}
	}
	x.checkpoints.last, x.checkpoints.written = head.Databases, head.At
	return head
}

// follows returns why the state's log does not continue from the checkpoint; nil when it does.
func (c *checkpoint) follows(v *state.View) error {
	switch {
	case c.Format != indexFormat:
		return errors.New("another version wrote it")
	case c.Cluster != v.Cluster():
		return errors.New("it belongs to another cluster")
	case c.At > v.Index():
		return fmt.Errorf("it is at index %d, the state at %d", c.At, v.Index())
	case c.At == v.Index() && c.Time != v.Time():
		return errors.New("it belongs to another history of the log")
	case c.At == v.Index():
		return nil // the log, which may not be open yet, is not needed
	}
	if first, _, _, kept := v.Retained(); !kept || first > c.At+1 {
		return fmt.Errorf("it is at index %d, the log begins at %d", c.At, first)
	}
	later := true
	err := v.Log(c.At+1, func(o oplog.Outcome) bool {
		later = c.Time.Less(o.HLC)
		return false
	})
	if err == nil && !later {
		return errors.New("it belongs to another history of the log")
	}
	return err
}

// confirm analyses the memories again that the checkpoint has and the text index on disk lacks, and deletes the rows
// there that are in neither checkpoint nor state.
func (x *Index) confirm(ctx context.Context, v *state.View, id oplog.DB, d *database) error {
	slices.Sort(d.withoutWords)
	err := x.reread(ctx, v, id, d, d.withoutWords)
	d.withoutWords = nil
	if err != nil {
		return err
	}
	return d.deleteUnconfirmed()
}

// deleteUnconfirmed deletes the rows on disk that the state does not have. The caller has put all of the state before.
func (d *database) deleteUnconfirmed() error {
	var del []uint32
	for _, a := range d.adopted {
		del = append(del, a.row)
	}
	for row := range d.orphans {
		del = append(del, row)
	}
	d.adopted, d.orphans = nil, nil
	for at, c := range d.cols.view().chunks {
		if c.live == 0 {
			d.emptyChunks = append(d.emptyChunks, at)
		}
	}
	d.freeDeadRows()
	if len(del) == 0 {
		return nil
	}
	return d.words.ApplyDocuments(nil, del)
}
