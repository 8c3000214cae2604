package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cairndb/cairn/index/text"
	"github.com/cairndb/cairn/oplog"
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
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
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
		if id, gen, ok := parseDir(e.Name()); !ok || gen < newest[id] {
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
// this database; otherwise it begins an empty one.
func (x *Index) open(cluster string, info oplog.Database, gen int, adopt bool) (*database, error) {
	self := birth{Format: indexFormat, Cluster: cluster, Database: info.ID, Name: info.Name, Created: info.Created}
	if adopt {
		old, err := filepath.Glob(filepath.Join(x.cfg.Dir, strconv.Itoa(int(info.ID))+"-*"))
		if err != nil {
			return nil, err
		}
		for _, dir := range old {
			if d := x.reopen(dir, self); d != nil {
				return d, nil
			}
			if err := os.RemoveAll(dir); err != nil {
				return nil, fmt.Errorf("database %d: %w", info.ID, err)
			}
		}
	}
	dir := filepath.Join(x.cfg.Dir, dirName(info.ID, gen))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("database %d: %w", info.ID, err)
	}
	raw, err := json.Marshal(self)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, birthFile), x.cfg.Keys.Bytes(raw), 0o600); err != nil {
		return nil, fmt.Errorf("database %d: %w", info.ID, err)
	}
	words, err := text.Open(text.Config{Dir: filepath.Join(dir, "text"), Cache: x.cache, Logger: x.cfg.Logger, Keys: x.cfg.Keys})
	if err != nil {
		return nil, fmt.Errorf("database %d: %w", info.ID, err)
	}
	return newDatabase(filepath.Join(dir, "text"), words), nil
}

// reopen opens what an earlier run left in dir; nil when that is of no use.
func (x *Index) reopen(dir string, self birth) *database {
	raw, err := os.ReadFile(filepath.Join(dir, birthFile))
	if err == nil {
		raw, err = x.cfg.Keys.Plain(raw)
	}
	var b birth
	if err != nil || json.Unmarshal(raw, &b) != nil || b != self {
		x.cfg.Logger.Info("index of another database thrown away", "path", dir)
		return nil
	}
	words, err := text.Open(text.Config{Dir: filepath.Join(dir, "text"), Cache: x.cache, Logger: x.cfg.Logger, Keys: x.cfg.Keys})
	if err != nil {
		x.cfg.Logger.Warn("index unreadable, built anew", "path", dir, "err", err)
		return nil
	}
	d := newDatabase(filepath.Join(dir, "text"), words)
	rows, next := words.Restored()
	d.adopted = make(map[oplog.Seq]adopt, len(rows))
	d.strays = make(map[uint32]struct{})
	for _, r := range rows {
		seq := oplog.Seq(r.Tag.Number)
		if old, twice := d.adopted[seq]; twice { // a correction whose deletion had not reached the disk
			if old.revision > r.Tag.Revision {
				d.strays[r.Row] = struct{}{}
				continue
			}
			d.strays[old.row] = struct{}{}
		}
		d.adopted[seq] = adopt{r.Row, r.Tag.Revision, r.Length}
	}
	d.cols.skip(next)
	return d
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
