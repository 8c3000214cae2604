package index

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
)

// A checkpoint is the columns and the vectors' codes as they were at an index of the log, so that the next start reads from the
// state only what happened since. Its head says which files of which database are it.
type checkpoint struct {
	Format    int                `json:"format"`
	Cluster   string             `json:"cluster"`
	At        oplog.Index        `json:"at"`
	Time      oplog.HLC          `json:"time"` // of the newest entry in it
	Databases map[oplog.DB]saved `json:"databases"`
}

// saved is the files of one database.
type saved struct {
	Dir     string         `json:"dir"`
	Epoch   uint32         `json:"epoch"` // of the embedder whose vectors these are
	Rows    string         `json:"rows"`
	Vectors []savedVectors `json:"vectors"`
}

// savedVectors is a file of the vectors of consecutive row numbers. What dies later stays in it.
type savedVectors struct {
	File  string `json:"file"`
	To    uint32 `json:"to"` // row numbers are below it
	Count int    `json:"count"`
}

const (
	checkpointFile = "checkpoint"
	checkpointRows = 20_000 // changes after which another is written, or a quarter of all rows if that is more
)

// keeper is what an index remembers about its checkpoints. The goroutine that follows the log alone uses it, and a writer that
// it has started until that is done.
type keeper struct {
	cluster string
	at      oplog.Index
	time    oplog.HLC
	partial bool // work beyond at was begun and has not succeeded: no checkpoint may be written
	changes int  // since the last checkpoint
	last    map[oplog.DB]saved
	done    chan struct{} // closed when the writer is done; nil when none was started
}

// busy says whether a checkpoint is being written.
func (k *keeper) busy() bool {
	if k.done == nil {
		return false
	}
	select {
	case <-k.done:
		k.done = nil
		return false
	default:
		return true
	}
}

// wait waits for the checkpoint that is being written.
func (k *keeper) wait() {
	if k.done != nil {
		<-k.done
		k.done = nil
	}
}

// checkpoint writes one beside what goes on, when there is enough to save.
func (x *Index) checkpoint() {
	k := &x.keeper
	if k.changes < checkpointRows || k.busy() {
		return
	}
	rows := 0
	x.mu.RLock()
	for _, d := range x.dbs {
		rows += int(d.cols.n.Load())
	}
	x.mu.RUnlock()
	if k.changes < rows/4 {
		return
	}
	done, write := make(chan struct{}), x.portray()
	k.done, k.changes = done, 0
	go func() {
		defer close(done)
		write()
	}()
}

// A portrait is a database at a moment between two steps of the log. What is atomic in it may change while it is written: that
// is done again at the next start, for it came later.
type portrait struct {
	id       oplog.DB
	dir      string
	shelf    shelf
	seq      uint64
	top      oplog.Seq
	sessions []sessionRows
	facets   *facets
	faces    []*facet // of them, those there were
	vectors  *vector.Store
	epoch    uint32
	old      saved
	stale    bool // old is not what there is now
	refilled bool // old rows got vectors since: the files are written anew
}

type sessionRows struct {
	sessionName
	rows []uint32
}

// portray takes the moment, and returns what writes it down.
func (x *Index) portray() func() {
	k := &x.keeper
	head := checkpoint{Format: indexFormat, Cluster: k.cluster, At: k.at, Time: k.time, Databases: map[oplog.DB]saved{}}
	var all []portrait
	x.mu.RLock()
	for id, d := range x.dbs {
		old, ok := k.last[id]
		p := portrait{id: id, dir: filepath.Base(filepath.Dir(d.dir)), old: old}
		p.stale = !ok || old.Dir != p.dir || d.changed
		if p.stale {
			p.shelf, p.seq, p.top, p.vectors = d.cols.shelf(), d.seq, oplog.Seq(d.bySeq.top.Load()), d.vectors.Load()
			p.epoch, p.refilled = d.epoch, d.refilled
			p.facets, p.faces = d.faces, *d.faces.list.Load()
			for _, s := range d.sessions[1:] {
				p.sessions = append(p.sessions, sessionRows{s.sessionName, *s.rows.Load()})
			}
			d.changed, d.refilled = false, false
		}
		all = append(all, p)
	}
	x.mu.RUnlock()
	return func() {
		var err error
		for _, p := range all {
			if !p.stale {
				head.Databases[p.id] = p.old
				continue
			}
			if head.Databases[p.id], err = x.save(&p, head.At); err != nil {
				break
			}
		}
		if err == nil {
			err = x.saveHead(head)
		}
		if err != nil { // what it had is not known to be whole: the next one writes everything
			x.cfg.Logger.Warn("no checkpoint of the index", "err", err)
			k.last = nil
			return
		}
		k.last = head.Databases
		x.tidyFiles(head.Databases)
		x.cfg.Logger.Debug("checkpoint of the index", "index", head.At)
	}
}

// saveHead makes the checkpoint what the next start finds.
func (x *Index) saveHead(head checkpoint) error {
	raw, err := json.Marshal(head)
	if err != nil {
		return err
	}
	path := filepath.Join(x.cfg.Dir, checkpointFile)
	p := newPen(path+".new", headMagic, x.cfg.Keys)
	p.section(raw)
	if err := p.close(); err != nil {
		return err
	}
	if err := x.cfg.State.Flush(); err != nil { // the next start has no use for a checkpoint of what the state has lost
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncDir(x.cfg.Dir)
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// save writes a database's files.
func (x *Index) save(p *portrait, at oplog.Index) (s saved, err error) {
	s = saved{Dir: p.dir, Epoch: p.epoch, Rows: fmt.Sprintf("rows-%d", at)}
	dir := filepath.Join(x.cfg.Dir, p.dir)
	out := newPen(filepath.Join(dir, s.Rows), rowsMagic, x.cfg.Keys)
	p.write(out)
	if err := out.close(); err != nil {
		return s, err
	}
	if s.Vectors, err = x.saveVectors(p, dir, at); err != nil {
		return s, err
	}
	return s, syncDir(dir)
}

// saveVectors adds a file of the vectors of new rows; when most of what the files hold is dead, one file replaces them.
func (x *Index) saveVectors(p *portrait, dir string, at oplog.Index) (all []savedVectors, err error) {
	if p.vectors == nil {
		return nil, nil
	}
	from, count := uint32(0), 0
	if p.old.Dir == p.dir && p.old.Epoch == p.epoch && !p.refilled {
		all = slices.Clone(p.old.Vectors)
	}
	for _, f := range all {
		from, count = f.To, count+f.Count
	}
	if count > 2*p.vectors.Len()+checkpointRows {
		all, from = nil, 0
	}
	f := savedVectors{File: fmt.Sprintf("vectors-%d-%d", at, from), To: p.shelf.n}
	out := newPen(filepath.Join(dir, f.File), vectorsMagic, x.cfg.Keys)
	out.u32(uint32(p.vectors.Dim()))
	p.vectors.Each(from, p.shelf.n, func(row uint32, v vector.Prepared) bool {
		out.u32(row)
		out.buf = v.Append(out.buf)
		out.cut(false)
		f.Count++
		return out.err == nil
	})
	if err := out.close(); err != nil {
		return nil, err
	}
	return append(all, f), nil
}

// tidyFiles removes what the checkpoint has replaced.
func (x *Index) tidyFiles(now map[oplog.DB]saved) {
	for _, s := range now {
		keep := map[string]bool{s.Rows: true}
		for _, v := range s.Vectors {
			keep[v.File] = true
		}
		dir := filepath.Join(x.cfg.Dir, s.Dir)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // dropped meanwhile
		}
		for _, e := range entries {
			if n := e.Name(); !keep[n] && (strings.HasPrefix(n, "rows-") || strings.HasPrefix(n, "vectors-")) {
				if err := os.Remove(filepath.Join(dir, n)); err != nil {
					x.cfg.Logger.Warn("an old checkpoint stays", "path", filepath.Join(dir, n), "err", err)
				}
			}
		}
	}
}
