package index

import (
	"cmp"
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
	"github.com/cairndb/cairn/oplog/seal"
)

// A birth says whose texts a directory holds. It is written before the first of them.
type birth struct {
	Format   int        `json:"format"`
	Cluster  string     `json:"cluster"`
	Database oplog.DB   `json:"database"`
	Name     string     `json:"name"`
	Created  oplog.Time `json:"created"`
}

// indexFormat is raised when the meaning of stored rows changes.
const indexFormat = 1

const birthFile = "birth.json"

// tidy removes what no database will ask for: directories of other names, and those set aside as damaged.
func (x *Index) tidy() error {
	entries, err := os.ReadDir(x.cfg.Dir)
	if err != nil {
		return err
	}
	newest := map[string]int{} // by database
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
		}
	}
	return nil
}

// dirName is where a database's index is kept: a rebuild has a directory of its own.
func dirName(id oplog.DB, gen int) string {
	return strconv.Itoa(int(id)) + "-" + strconv.Itoa(gen)
}

func parseDir(name string) (id string, gen int, ok bool) {
	id, number, ok := strings.Cut(name, "-")
	gen, err := strconv.Atoi(number)
	_, bad := strconv.Atoi(id)
	return id, gen, ok && err == nil && bad == nil
}

// open opens the index of a database. With adopt it looks for what an earlier run left, and takes it when it is whole and of
// this database; otherwise it begins an empty one. It is revived when the files of a checkpoint filled it.
func (x *Index) open(cluster string, info oplog.Database, gen int, adopt bool, files saved) (_ *database, revived bool, err error) {
	self := birth{Format: indexFormat, Cluster: cluster, Database: info.ID, Name: info.Name, Created: info.Created}
	if adopt {
		old, err := filepath.Glob(filepath.Join(x.cfg.Dir, strconv.Itoa(int(info.ID))+"-*"))
		if err != nil {
			return nil, false, err
		}
		for _, dir := range old {
			if d, revived := x.reopen(dir, self, files); d != nil {
				return d, revived, nil
			}
			if err := os.RemoveAll(dir); err != nil {
				return nil, false, fmt.Errorf("database %d: %w", info.ID, err)
			}
		}
	}
	dir := filepath.Join(x.cfg.Dir, dirName(info.ID, gen))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, false, fmt.Errorf("database %d: %w", info.ID, err)
	}
	raw, err := json.Marshal(self)
	if err != nil {
		return nil, false, err
	}
	if err := os.WriteFile(filepath.Join(dir, birthFile), x.cfg.Keys.Bytes(raw), 0o600); err != nil {
		return nil, false, fmt.Errorf("database %d: %w", info.ID, err)
	}
	words, err := text.Open(text.Config{Dir: filepath.Join(dir, "text"), Cache: x.cache, Backlog: x.tails, Logger: x.cfg.Logger, Keys: x.cfg.Keys})
	if err != nil {
		return nil, false, fmt.Errorf("database %d: %w", info.ID, err)
	}
	return newDatabase(filepath.Join(dir, "text"), words), false, nil
}

// reopen opens what an earlier run left in dir; nil when that is of no use.
func (x *Index) reopen(dir string, self birth, files saved) (_ *database, revived bool) {
	raw, err := os.ReadFile(filepath.Join(dir, birthFile))
	if err == nil {
		raw, err = x.cfg.Keys.Plain(raw)
	}
	var b birth
	if err != nil || json.Unmarshal(raw, &b) != nil || b != self {
		x.cfg.Logger.Info("index of another database thrown away", "path", dir)
		return nil, false
	}
	d := blank(dir)
	r := revival{d: d}
	filled := make(chan error, 1)
	go func() { filled <- x.revive(&r, dir, files) }() // the words take about as long
	words, err := text.Open(text.Config{Dir: filepath.Join(dir, "text"), Cache: x.cache, Backlog: x.tails, Logger: x.cfg.Logger, Keys: x.cfg.Keys})
	failed := <-filled
	if err != nil {
		x.cfg.Logger.Warn("index unreadable, built anew", "path", dir, "err", err)
		return nil, false
	}
	rows, next := words.Restored()
	if failed == nil {
		r.match(rows)
	} else {
		if !errors.Is(failed, errElsewhere) {
			x.cfg.Logger.Warn("checkpoint of the index unreadable, the state is read instead", "path", dir, "err", failed)
		}
		d = blank(dir)
		for _, r := range rows {
			d.adopt(r)
		}
	}
	d.words = words
	d.cols.skip(next)
	return d, failed == nil
}

// blank is a database that knows nothing yet, and may adopt rows. Its words are set when they are open.
func blank(dir string) *database {
	d := newDatabase(filepath.Join(dir, "text"), nil)
	d.adopted, d.strays = map[oplog.Seq]adopt{}, map[uint32]struct{}{}
	return d
}

var errElsewhere = errors.New("the checkpoint is of another directory")

// revive reads the files of a checkpoint into a blank database.
func (x *Index) revive(r *revival, dir string, files saved) error {
	if files.Dir != filepath.Base(dir) {
		return errElsewhere
	}
	if err := readSections(filepath.Join(dir, files.Rows), rowsMagic, x.cfg.Keys, r.rows); err != nil {
		return fmt.Errorf("%s: %w", files.Rows, err)
	}
	for _, f := range files.Vectors {
		if err := readSections(filepath.Join(dir, f.File), vectorsMagic, x.cfg.Keys, func(e *eye) error { return r.vectors(e, f) }); err != nil {
			return fmt.Errorf("%s: %w", f.File, err)
		}
	}
	return nil
}

// loadHead reads which files are the checkpoint; it is empty when there is none that the state's log leads on from.
func (x *Index) loadHead(v *oplog.View) (head checkpoint) {
	path := filepath.Join(x.cfg.Dir, checkpointFile)
	err := readSections(path, headMagic, x.cfg.Keys, func(e *eye) error {
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
		case errors.Is(err, errSections) || errors.Is(err, seal.ErrDamaged):
			x.cfg.Logger.Warn("checkpoint of the index unreadable, the state is read instead", "path", path, "err", err)
		case !errors.Is(err, os.ErrNotExist):
			x.cfg.Logger.Info("no use for the checkpoint of the index", "err", err)
		}
		return checkpoint{}
	}
	x.keeper.last = head.Databases
	return head
}

// follows says why the state's log does not lead on from a checkpoint.
func (c *checkpoint) follows(v *oplog.View) error {
	first, _, _, kept := v.Retained()
	switch {
	case c.Format != indexFormat || c.Cluster != v.Cluster():
		return errors.New("it is of another cluster")
	case c.At > v.Index():
		return fmt.Errorf("it is of index %d, the state of %d", c.At, v.Index())
	case c.At == v.Index() && c.Time != v.Time():
		return errors.New("it is of another history")
	case c.At < v.Index() && (!kept || first > c.At+1):
		return fmt.Errorf("it is of index %d, the log begins at %d", c.At, first)
	}
	later := true
	err := v.Log(c.At+1, func(o oplog.Outcome) bool {
		later = c.Time.Less(o.HLC)
		return false
	})
	if err == nil && !later {
		return errors.New("it is of another history")
	}
	return err
}

// catchStep is how many operations are looked at before a revived index takes over the memories that they touch.
const catchStep = 2000

// catchUp takes over what happened since the checkpoint, and deletes rows on disk that nothing confirmed.
func (x *Index) catchUp(ctx context.Context, v *oplog.View, head checkpoint, dbs map[oplog.DB]*database) error {
	if len(dbs) == 0 {
		return nil
	}
	page, n, before := touched{}, 0, x.keeper.changes
	flush := func() error {
		for id, rids := range page {
			if err := x.renew(ctx, v, id, dbs[id], rids); err != nil {
				return err
			}
		}
		clear(page)
		return ctx.Err()
	}
	var failed error
	err := v.Log(head.At+1, func(o oplog.Outcome) bool {
		if dbs[o.Entry.DB] == nil {
			return true
		}
		page.add(o)
		if n += len(o.Entry.Ops); n >= catchStep {
			n, failed = 0, flush()
		}
		return failed == nil
	})
	if err = cmp.Or(err, failed); err == nil {
		err = flush()
	}
	for id, d := range dbs {
		if err == nil {
			err = x.regain(ctx, v, id, d)
		}
		if err == nil {
			err = d.disown()
		}
	}
	x.cfg.Logger.Debug("index ready", "checkpoint", head.At, "read", x.keeper.changes-before)
	return err
}

// regain analyses again the memories whose words the disk has lost.
func (x *Index) regain(ctx context.Context, v *oplog.View, id oplog.DB, d *database) error {
	slices.Sort(d.lost)
	err := x.reread(ctx, v, id, d, d.lost)
	d.lost = nil
	return err
}

// disown deletes the rows on disk that the state does not have, once all of the state was put.
func (d *database) disown() error {
	var del []uint32
	for _, a := range d.adopted {
		del = append(del, a.row)
	}
	for row := range d.strays {
		del = append(del, row)
	}
	d.adopted, d.strays = nil, nil
	if len(del) == 0 {
		return nil
	}
	return d.words.ApplyDocuments(0, nil, del)
}
