package index

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/cairndb/cairn/index/vector"
	"github.com/cairndb/cairn/oplog"
	"github.com/cairndb/cairn/oplog/syncwriter"
)

// A checkpoint is the columns and the vectors' codes as they were at one index of the log, so that the next start
// reads from the state only what happened after it. This struct is its head: it names the files, per database, that
// belong to it.
type checkpoint struct {
	Format    int                        `json:"format"`
	Cluster   string                     `json:"cluster"`
	At        oplog.Index                `json:"at"`
	Time      oplog.HLC                  `json:"time"` // of the newest entry in it
	Databases map[oplog.DB]databaseFiles `json:"databases"`
}

// databaseFiles is the files of one database.
type databaseFiles struct {
	Dir     string       `json:"dir"`
	Epoch   uint32       `json:"epoch"` // of the embedder whose vectors these are
	Rows    string       `json:"rows"`
	Vectors []vectorFile `json:"vectors"`

	At      oplog.Index `json:"at"`   // they have all that the log says of the database up to here
	Open    bool        `json:"open"` // it was open when the checkpoint was written
	Counted vectorCount `json:"counted"`
}

// savedFiles describes the content of a database's files.
type savedFiles struct {
	databaseFiles
	version uint64 // database.version
}

// vectorFile is a file of the vectors of consecutive row numbers. What dies later stays in it.
type vectorFile struct {
	File  string `json:"file"`
	To    uint32 `json:"to"` // row numbers are below it
	Count int    `json:"count"`
}

const (
	checkpointFile = "checkpoint"
	checkpointRows = 20_000 // changes after which another is written, or a quarter of all rows if that is more
)

// checkpointState tracks an index's checkpoints. Who holds Index.following owns it, and
// lends it to the writer that it starts until that writer closes done.
type checkpointState struct {
	cluster string
	at      oplog.Index
	time    oplog.HLC
	partial bool         // work beyond at was begun and has not succeeded: no checkpoint may be written
	changes atomic.Int64 // rows put since the last checkpoint
	written oplog.Index  // where the last one ends
	last    map[oplog.DB]databaseFiles
	done    chan struct{} // closed when the writer is done; nil when none was started
}

// busy reports whether a checkpoint is being written.
func (k *checkpointState) busy() bool {
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
func (k *checkpointState) wait() {
	if k.done != nil {
		<-k.done
		k.done = nil
	}
}

// checkpoint starts writing a checkpoint in the background when enough rows have changed and none is being written.
func (x *Index) checkpoint() {
	k := &x.checkpoints
	long := k.at > k.written+mostBehind // what passes closed indexes by counts as no change, and the next start reads it
	if k.changes.Load() < checkpointRows && !long || k.busy() {
		return
	}
	rows := 0
	x.mu.RLock()
	for _, d := range x.dbs {
		if d.memory {
			continue
		}
		rows += int(d.cols.n.Load())
	}
	x.mu.RUnlock()
	if k.changes.Load() < int64(rows/4) && !long {
		return
	}
	x.startCheckpoint()
}

// startCheckpoint has one written in the background. None is being written.
func (x *Index) startCheckpoint() {
	k, done := &x.checkpoints, make(chan struct{})
	write := x.captureCheckpoint()
	k.done, k.written = done, k.at
	k.changes.Store(0)
	go func() {
		defer close(done)
		write()
	}()
}

// A checkpointWriter holds one database as it was between two steps of Follow, and writes it to files. Atomic fields
// may be newer by the time they are written; the entries that changed them lie behind the checkpoint's index, and the
// next start applies them again.
type checkpointWriter struct {
	id        oplog.DB
	dir       string
	cols      columnView
	seq       uint64
	top       oplog.Seq
	sessions  []sessionRows
	facets    *facets
	facetList []*facet // those that existed at the moment
	having    []savedAttribute
	vectors   *vector.Store
	epoch     uint32
	old       databaseFiles
	changed   bool // the files of old no longer describe the database
	database  *database
	version   uint64
	refilled  bool // rows that old covers got vectors later: all vector files are written again
	counted   vectorCount
}

type sessionRows struct {
	sessionName
	rows []uint32
}

// captureCheckpoint captures every database at this moment, under the lock, and returns the function that writes them
// to disk without it. Only the goroutine that calls Follow may call it.
func (x *Index) captureCheckpoint() func() {
	k := &x.checkpoints
	head := checkpoint{Format: indexFormat, Cluster: k.cluster, At: k.at, Time: k.time, Databases: map[oplog.DB]databaseFiles{}}
	var all []checkpointWriter
	x.mu.RLock()
	far := x.captureParked(&head)
	for id, d := range x.dbs {
		if d.memory {
			continue
		}
		old, ok := k.last[id]
		p := checkpointWriter{id: id, dir: filepath.Base(filepath.Dir(d.dir)), old: old, database: d, version: d.version.Load(), counted: d.withVectors()}
		p.changed = !ok || old.Dir != p.dir || d.captured != p.version
		if p.changed {
			p.cols, p.seq, p.top, p.vectors = d.cols.view(), d.seq, oplog.Seq(d.bySeq.top.Load()), d.vectors.Load()
			p.epoch, p.refilled = d.epoch, d.refilled
			p.facets, p.facetList, p.having = d.facets, *d.facets.list.Load(), d.facets.having.save()
			for _, s := range d.sessions[1:] {
				p.sessions = append(p.sessions, sessionRows{s.sessionName, *s.rows.Load()})
			}
			d.captured, d.refilled = p.version, false
		}
		all = append(all, p)
	}
	x.mu.RUnlock()
	x.openFar(far)
	return func() {
		var err error
		for _, p := range all {
			files := p.old
			if p.changed {
				if files, err = x.save(&p, head.At); err != nil {
					break
				}
			}
			files.At, files.Open, files.Counted = head.At, true, p.counted
			head.Databases[p.id] = files
		}
		if err == nil {
			err = x.saveHead(head)
		}
		if err != nil { // the files on disk may be incomplete: the next checkpoint writes everything
			x.cfg.Logger.Warn("checkpoint of the index failed", "err", err)
			k.last = nil
			return
		}
		k.last = head.Databases
		for _, p := range all {
			p.database.saved.Store(&savedFiles{head.Databases[p.id], p.version})
		}
		x.tidyFiles(head.Databases)
		x.cfg.Logger.Debug("checkpoint of the index written", "index", head.At)
	}
}

// captureParked notes the files of closed indexes, and up to where they are whole: the next start reads from the log
// what they lack. It returns those that are too far behind for that. mu of the index is held.
func (x *Index) captureParked(head *checkpoint) (far []oplog.DB) {
	for id, files := range x.parked {
		files.At, files.Open, files.Counted = head.At, false, x.counted[id]
		if o := x.opening[id]; o != nil && o.behind {
			files.At = o.since
			if head.At-o.since > mostBehind {
				far = append(far, id)
			}
		}
		head.Databases[id] = files
	}
	return far
}

// saveHead replaces the head file, which makes the new checkpoint the one that the next start loads. The state is
// flushed first: a checkpoint ahead of the state on disk would be refused after a crash.
func (x *Index) saveHead(head checkpoint) error {
	raw, err := json.Marshal(head)
	if err != nil {
		return err
	}
	path := filepath.Join(x.cfg.Dir, checkpointFile)
	p := newSectionWriter(path+".new", headMagic, x.cfg.Keys)
	p.section(raw)
	if err := p.close(); err != nil {
		return err
	}
	if err := x.cfg.State.Flush(); err != nil {
		return err
	}
	if err := os.Rename(path+".new", path); err != nil {
		return err
	}
	return syncwriter.Dir(x.cfg.Dir)
}

// save writes a database's files.
func (x *Index) save(p *checkpointWriter, at oplog.Index) (s databaseFiles, err error) {
	s = databaseFiles{Dir: p.dir, Epoch: p.epoch, Rows: fmt.Sprintf("rows-%d", at)}
	dir := filepath.Join(x.cfg.Dir, p.dir)
	out := newSectionWriter(filepath.Join(dir, s.Rows), rowsMagic, x.cfg.Keys)
	p.write(out)
	if err := out.close(); err != nil {
		return s, err
	}
	if s.Vectors, err = x.saveVectors(p, dir, at); err != nil {
		return s, err
	}
	return s, syncwriter.Dir(dir)
}

// saveVectors adds a file of the vectors of new rows; when most of what the files hold is dead, one file replaces them.
func (x *Index) saveVectors(p *checkpointWriter, dir string, at oplog.Index) (all []vectorFile, err error) {
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
	f := vectorFile{File: fmt.Sprintf("vectors-%d-%d", at, from), To: p.cols.n}
	out := newSectionWriter(filepath.Join(dir, f.File), vectorsMagic, x.cfg.Keys)
	out.u32(uint32(p.vectors.Dim()))
	p.vectors.Each(from, p.cols.n, func(row uint32, v vector.Prepared) bool {
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

// tidyFiles removes the row and vector files that the current checkpoint does not name.
func (x *Index) tidyFiles(now map[oplog.DB]databaseFiles) {
	for _, s := range now {
		keep := map[string]bool{s.Rows: true}
		for _, v := range s.Vectors {
			keep[v.File] = true
		}
		dir := filepath.Join(x.cfg.Dir, s.Dir)
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue // the database was dropped
		}
		for _, e := range entries {
			if n := e.Name(); !keep[n] && (strings.HasPrefix(n, "rows-") || strings.HasPrefix(n, "vectors-")) {
				if err := os.Remove(filepath.Join(dir, n)); err != nil {
					x.cfg.Logger.Warn("old checkpoint file not removed", "path", filepath.Join(dir, n), "err", err)
				}
			}
		}
	}
}
